#include "linkgain/fleet/fleet.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "fleet_fixture.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/record/warning.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST_F(Fleet, OfHealthyNodesIsOk) {
  const FleetReport report = judge();
  ASSERT_THAT(report.nodes, SizeIs(12));
  for (const FleetNode& each : report.nodes) {
    EXPECT_EQ(each.state, NodeState::ok) << each.host;
    EXPECT_EQ(each.judged_cases, 40);
    EXPECT_THAT(each.findings, IsEmpty());
  }
  EXPECT_EQ(report.nodes.front().host, "node01");
  EXPECT_THAT(report.drain, IsEmpty());
}

TEST_F(Fleet, BlamesTheSlowPair) {
  slow_down(node(5), 1.2, [](const Case& c) { return is_pair(c, 1, 3); });
  const FleetReport report = judge();
  const FleetNode& worst = report.nodes.front();
  EXPECT_EQ(worst.host, "node05");
  EXPECT_EQ(worst.state, NodeState::slow);
  EXPECT_EQ(worst.slow_cases, 2);
  EXPECT_NEAR(*worst.slowdown, 1.2, 0.02);
  EXPECT_EQ(worst.blame, "GPU1–GPU3");
  EXPECT_EQ(worst.worst_variant, "p2p");
  EXPECT_THAT(worst.worst_case, HasSubstr("/pair=1-3"));
  EXPECT_THAT(report.drain, ElementsAre("node05"));
  EXPECT_EQ(report.nodes[1].state, NodeState::ok);
}

TEST_F(Fleet, BlamesTheGpuOfWhichEveryPairIsSlow) {
  slow_down(node(7), 1.5,
            [](const Case& c) { return !c.pair || c.pair->from == 2 || c.pair->to == 2; });
  EXPECT_EQ(judge().nodes.front().blame, "GPU2");
}

TEST_F(Fleet, BlamesNoGpuWhereAllPairsAreSlow) {
  slow_down(node(7), 1.5, [](const Case& c) { return c.pair.has_value(); });
  EXPECT_EQ(judge().nodes.front().blame, "all 6 pairs");
  slow_down(node(8), 4.0, [](const Case& c) { return !c.pair; });
  EXPECT_EQ(judge().nodes.front().host, "node08");
  EXPECT_EQ(judge().nodes.front().blame, "");
}

TEST_F(Fleet, BlamesAGpuAndAPairThatAreSlowAtOnce) {
  records_.clear();
  for (int i = 1; i <= 4; ++i) {
    records_.push_back(
        fleet_node(fmt::format("node{:02}", i), static_cast<std::uint64_t>(i), 8, 60));
  }
  const auto is_of_gpu_4 = [](const Case& c) {
    return c.pair && (c.pair->from == 4 || c.pair->to == 4);
  };
  slow_down(node(3), 1.5,
            [&](const Case& c) { return is_of_gpu_4(c) || is_pair(c, 2, 6) || is_pair(c, 4, 6); });
  EXPECT_EQ(judge().nodes.front().blame, "GPU4, GPU2–GPU6");
  slow_down(node(3), 1.5, [](const Case& c) { return c.pair && c.pair->from == 0; });
  EXPECT_EQ(judge().nodes.front().blame, "GPU0, GPU4, GPU2–GPU6");
}

/// Expects of each of two reasons to drain a node its state and its place.
TEST_F(Fleet, NamesEachReasonToDrainANode) {
  slow_down(node(3), 1.5, [](const Case& c) { return is_pair(c, 0, 1); });
  add_fleet_samples(node(3), 3);
  for (CaseResult& result : node(3).cases) {
    for (Sample& sample : result.samples) sample.health[3].clock_event_reasons = 0x40;
    result.variants[0].health.unhealthy_samples = 3;
  }
  const FleetReport report = judge();
  const FleetNode& worst = report.nodes.front();
  EXPECT_EQ(worst.state, NodeState::slow);
  EXPECT_THAT(worst.other_states, ElementsAre(NodeState::unhealthy));
  EXPECT_EQ(worst.blame, "GPU0–GPU1, GPU3");
  EXPECT_THAT(to_terminal(fleet_report(report)), HasSubstr("slow, unhealthy"));
}

/// Expects no verdict of one launch beside more, as in other commands; where all nodes have one,
/// peers are all there is.
TEST_F(Fleet, AccusesNoNodeOfOneLaunchBesidePeersWithMore) {
  slow_down(node(5), 1.5, [](const Case& c) { return c.pair.has_value(); });
  EXPECT_THAT(judge().drain, ElementsAre("node05")) << "all have one";
  EXPECT_THAT(judge().notes, Contains(HasSubstr("judged by the peers alone")));
  for (int i = 1; i <= 12; ++i) {
    if (i != 5) set_launches(node(i), 8);
  }
  EXPECT_THAT(judge().drain, IsEmpty());
  EXPECT_THAT(judge().measure_again, ElementsAre("node05"));
  EXPECT_THAT(judge().nodes.front().findings, Contains(HasSubstr("has one launch")));
}

/// Slows nodes down by more and more, each in another case, so that what widens their intervals, or
/// narrows them, changes what some of them is said to be.
TEST_F(Fleet, JudgesEachNodeByItsOwnLaunches) {
  using Said = std::tuple<std::string, NodeState, std::vector<std::string>>;
  const auto judge_beside = [this](int launches) {
    reset();
    for (int i = 1; i <= 12; ++i) {
      const auto place = static_cast<std::size_t>(i - 1);
      if (i < 12) node(i).cases[place].variants[0].time->value *= 1.04 + 0.006 * i;
      measure_launches(node(i), static_cast<std::uint64_t>(i), 1.0, 0.02);
    }
    set_launches(node(12), launches);
    std::set<Said> all;
    for (const FleetNode& each : judge().nodes) {
      if (each.host != "node12") all.emplace(each.host, each.state, each.findings);
    }
    return all;
  };
  const auto expected = judge_beside(8);
  const auto slow = std::ranges::count_if(
      expected, [](const Said& each) { return std::get<1>(each) == NodeState::slow; });
  EXPECT_THAT(slow, AllOf(Gt(2), Lt(9)));
  for (const int launches : {1, 2, 3, 64}) EXPECT_EQ(judge_beside(launches), expected) << launches;
}

/// Says of most nodes what is found, and names those of which it does not hold.
TEST_F(Fleet, NamesTheFewNodesThatHaveFewerLaunches) {
  const auto reach = [this] {
    const FleetReport report = judge();
    const auto note = std::ranges::find_if(report.notes, [](const std::string& each) {
      return each.find("is called slow") != each.npos;
    });
    return note == report.notes.end() ? std::string() : *note;
  };
  for (Record& record : records_) set_launches(record, 8);
  const std::string usual = reach();
  EXPECT_THAT(usual, EndsWith("(8 launches each)"));
  set_launches(node(9), 64);
  EXPECT_EQ(reach(), usual);
  set_launches(node(3), 1);
  set_launches(node(5), 3);
  EXPECT_THAT(reach(), AllOf(StartsWith(usual.substr(0, usual.size() - 1)),
                             HasSubstr("fewer on node[03,05]:")));
}

TEST_F(Fleet, CallsNothingSlowWithinTheTolerance) {
  slow_down(node(5), 1.09, [](const Case& c) { return is_pair(c, 1, 3); });
  FleetOptions wide;
  wide.tolerance = 0.15;
  EXPECT_THAT(judge(wide).drain, IsEmpty());
  EXPECT_THAT(judge().drain, ElementsAre("node05"));
}

TEST_F(Fleet, AccusesNoNodeOfOneSlowLaunchAlone) {
  for (const double last : {1.6, 2.5, 5.0}) {
    reset();
    for (int i = 1; i <= 12; ++i) {
      measure_launches(node(i), static_cast<std::uint64_t>(i), i == 5 ? last : 1.0);
    }
    const FleetReport report = judge();
    EXPECT_THAT(report.drain, IsEmpty()) << last;
    EXPECT_THAT(report.measure_again, ElementsAre("node05"));
    EXPECT_THAT(report.nodes.front().findings,
                Contains(HasSubstr("its launches differ by more than its peers'")));
  }
}

TEST_F(Fleet, AccusesANodeOfWhichAllLaunchesAreSlow) {
  slow_down(node(5), 1.1, [](const Case& c) { return c.pair.has_value(); });
  for (int i = 1; i <= 12; ++i) {
    measure_launches(node(i), static_cast<std::uint64_t>(i), i == 7 ? 1.1 : 1.0);
  }
  const FleetReport report = judge();
  EXPECT_THAT(report.drain, ElementsAre("node05"));
  EXPECT_EQ(report.nodes.front().slow_cases, 12) << "of its six pairs, in two sizes";
  EXPECT_THAT(report.measure_again, IsEmpty()) << "1.2 % more is within the tolerance";
}

TEST_F(Fleet, FindsAnotherPath) {
  for (CaseResult& result : node(3).cases) result.variants[0].path = Path::host_memory;
  EXPECT_EQ(judge().nodes.front().state, NodeState::other_path);
  for (CaseResult& result : node(3).cases) result.variants[0].path = Path::unknown;
  EXPECT_EQ(judge().nodes.front().state, NodeState::inconclusive);
  EXPECT_THAT(judge().measure_again, ElementsAre("node03"));
}

TEST_F(Fleet, NamesTheGpuThatWasThrottledAndWhatBy) {
  add_fleet_samples(node(3), 3);
  for (CaseResult& result : node(3).cases) {
    result.samples[0].health[2].clock_event_reasons = 0x48;
    result.samples[0].health[1].clock_event_reasons = 0x4;  // its power limit
    result.variants[0].health.unhealthy_samples = 1;
  }
  const FleetNode worst = judge().nodes.front();
  EXPECT_EQ(worst.state, NodeState::unhealthy);
  EXPECT_EQ(worst.blame, "GPU2");
  EXPECT_THAT(worst.findings,
              Contains(HasSubstr("(GPU2: hardware slowdown, thermal slowdown (hardware))")));
}

TEST_F(Fleet, FindsWrongDataHealthAndRunsCutShort) {
  node(1).cases[3].variants[1].verification->wrong = 5;
  for (CaseResult& result : node(2).cases) result.variants[0].health.unhealthy_samples = 10;
  node(3).cases[0].variants[0].health.unhealthy_samples = 1;
  node(4).status = RunStatus::job_lost;
  node(5).warnings = {warning_of(WarningCode::wrong_path, "variant p2p")};
  node(6).machine.software.driver = "570.1";
  const FleetReport report = judge();
  std::vector<std::pair<std::string, NodeState>> states;
  for (const FleetNode& each : report.nodes) states.emplace_back(each.host, each.state);
  states.resize(6);
  EXPECT_THAT(states, ElementsAre(::testing::Pair("node01", NodeState::wrong_data),
                                  ::testing::Pair("node04", NodeState::incomplete),
                                  ::testing::Pair("node05", NodeState::other_path),
                                  ::testing::Pair("node02", NodeState::unhealthy),
                                  ::testing::Pair("node03", NodeState::ok),
                                  ::testing::Pair("node06", NodeState::ok)));
  EXPECT_THAT(report.drain, ElementsAre("node01", "node04", "node05", "node02"));
}

TEST_F(Fleet, NamesMissingAndUnreadableNodes) {
  FleetRecord broken;
  broken.path = "out/node13/record.json";
  broken.problem = "cut off";
  FleetRecord other;
  other.path = "out/node13/topology.json";
  other.problem = "not a record";
  other.is_other_document = true;
  others_ = {broken, other};
  FleetOptions options;
  options.expected = {"node01.cluster", "node13", "node14"};
  const FleetReport report = judge(options);
  EXPECT_EQ(report.nodes[0].host, "node14");
  EXPECT_EQ(report.nodes[0].state, NodeState::missing);
  EXPECT_EQ(report.nodes[1].host, "node13");
  EXPECT_EQ(report.nodes[1].state, NodeState::unreadable);
  EXPECT_THAT(report.nodes[1].findings, ElementsAre(broken.problem));
  EXPECT_THAT(report.nodes, SizeIs(14));
  EXPECT_THAT(report.drain, IsEmpty());
  EXPECT_THAT(report.notes, SizeIs(3));
}

/// Prefers the names that the scheduler knows: a machine may know its own with the domain.
TEST_F(Fleet, DrainsByTheNamesThatWereExpected) {
  node(4).machine.host = "node04.cluster.example";
  node(4).status = RunStatus::job_lost;
  EXPECT_THAT(judge().drain, ElementsAre("node04.cluster.example"));
  FleetOptions options;
  options.expected = {"node03", "node04", "node05"};
  EXPECT_THAT(judge(options).drain, ElementsAre("node04"));
  node(4).machine.host = "node04";
  options.expected = {"node04.cluster.example"};
  EXPECT_THAT(judge(options).drain, ElementsAre("node04.cluster.example"));
}

TEST_F(Fleet, FindsMachinesThatAreNotLikeTheirPeers) {
  node(2).machine.links[4].nvlink = false;
  node(2).machine.ranks[1].gpu->nvlink_links_active = 17;
  slow_down(node(2), 9.0, [](const Case& c) { return is_pair(c, 1, 3); });
  node(9).machine.ranks[3].gpu->nvlink_links_active = 17;
  records_.push_back(fleet_node("node13", 13, 3));
  const FleetReport report = judge();
  EXPECT_EQ(report.nodes[0].host, "node02");
  EXPECT_EQ(report.nodes[0].state, NodeState::faulty);
  EXPECT_EQ(report.nodes[0].slow_cases, 2);
  EXPECT_EQ(report.nodes[1].state, NodeState::faulty);
  EXPECT_EQ(report.nodes[2].host, "node13");
  EXPECT_EQ(report.nodes[2].state, NodeState::faulty);
  EXPECT_THAT(report.drain, ElementsAre("node02", "node09", "node13"));
}

/// Takes three machines with the same fault for no kind of their own.
TEST_F(Fleet, FindsOneFaultOnAsManyMachinesAsMakeAKind) {
  for (const int number : {2, 5, 9}) node(number).machine.ranks[1].gpu->nvlink_links_active = 17;
  const auto expect_faulty = [this](const std::string& why) {
    const FleetReport report = judge();
    EXPECT_THAT(report.drain, ElementsAre("node02", "node05", "node09"));
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(report.nodes[i].state, NodeState::faulty);
      EXPECT_THAT(report.nodes[i].findings, Contains(HasSubstr(why)));
    }
  };
  expect_faulty("17 of 18");
  reset();
  for (const int number : {2, 5, 9}) {
    node(number) = fleet_node(node(number).machine.host, static_cast<std::uint64_t>(number), 3);
  }
  expect_faulty("3 x NVIDIA H200 where its peers have 4 x NVIDIA H200");
  reset();
  records_.resize(6);
  for (const int number : {1, 2, 3}) node(number).machine.ranks[1].gpu->nvlink_links_active = 17;
  EXPECT_THAT(judge().drain, ElementsAre("node01", "node02", "node03"))
      << "no machine is built with one GPU's link less, half of a fleet neither";
}

TEST_F(Fleet, AccusesNoMachineWithOtherGpusAndNoRunOnSome) {
  const auto state_of = [this](const Record& record) {
    records_.push_back(record);
    const FleetReport report = judge();
    records_.pop_back();
    EXPECT_EQ(exit_code_of(report), ExitCode::inconclusive) << "whether it is good is not known";
    return report.nodes.front().state;
  };
  Record chosen = fleet_node("node13", 13, 3);
  chosen.settings.argv.push_back("--gpus=0,1,2");
  EXPECT_EQ(state_of(chosen), NodeState::not_judged);
  chosen.settings.argv.clear();
  chosen.settings.environment_in_force = {{{"CUDA_VISIBLE_DEVICES", "0,1,2"}}};
  EXPECT_EQ(state_of(chosen), NodeState::not_judged);
  Record other_host = fleet_node("node13", 13, 3);
  other_host.machine.processors = 64;
  EXPECT_EQ(state_of(other_host), NodeState::not_judged);
  EXPECT_EQ(state_of(fleet_node("node13", 13, 2)), NodeState::not_judged) << "half may be built";
}

TEST_F(Fleet, DoesNotJudgeWithoutPeers) {
  records_.resize(2);
  const FleetReport report = judge();
  EXPECT_EQ(report.nodes[0].state, NodeState::not_judged);
  EXPECT_THAT(report.drain, IsEmpty());
}

TEST_F(Fleet, TakesTheNewestRecordOfAMachine) {
  Record newer = node(4);
  newer.started = "2026-11-21T00:00:00Z";
  slow_down(newer, 2.0, [](const Case& c) { return is_pair(c, 0, 1); });
  records_.push_back(newer);
  // A machine of the same name with other GPUs is another machine.
  records_.push_back(node(4));
  records_.back().machine.ranks[0].gpu->uuid = "GPU-other";
  const FleetReport report = judge();
  EXPECT_THAT(report.nodes, SizeIs(13));
  EXPECT_THAT(report.drain, ElementsAre("node04"));
  EXPECT_THAT(report.notes, SizeIs(3));
}

/// Judges 400 nodes with normal noise.
TEST_F(Fleet, AccusesNobodyByChance) {
  for (int i = 13; i <= 400; ++i) {
    records_.push_back(fleet_node(fmt::format("node{:03}", i), static_cast<std::uint64_t>(i)));
  }
  EXPECT_THAT(judge().drain, IsEmpty());
  EXPECT_THAT(judge().notes, SizeIs(2)) << "nobody is faster";
}

TEST_F(Fleet, JsonHoldsEveryNode) {
  slow_down(node(5), 1.2, [](const Case& c) { return is_pair(c, 1, 3); });
  const auto json = nlohmann::json::parse(to_json(judge()));
  EXPECT_EQ(json.at("schema"), "linkgain.fleet/1");
  EXPECT_THAT(json.at("nodes"), SizeIs(12));
  EXPECT_EQ(json.at("nodes").at(0).at("host"), "node05");
  EXPECT_EQ(json.at("nodes").at(0).at("state"), "slow");
  EXPECT_EQ(json.at("nodes").at(0).at("blame"), "GPU1–GPU3");
  EXPECT_TRUE(json.at("nodes").at(1).at("slowdown").is_null());
  EXPECT_EQ(json.at("drain"), nlohmann::json({"node05"}));
}

/// Blames no node for a budget that ended.
TEST_F(Fleet, ANodeThatLacksCasesIsMeasuredAgain) {
  node(4).cases.clear();
  node(7).cases.resize(node(7).cases.size() / 2);
  const FleetReport report = judge();
  EXPECT_EQ(report.nodes[0].state, NodeState::inconclusive);
  EXPECT_EQ(report.nodes[1].state, NodeState::inconclusive);
  EXPECT_THAT(report.measure_again, ElementsAre("node04", "node07"));
  EXPECT_THAT(report.drain, IsEmpty());
  EXPECT_EQ(exit_code_of(report), ExitCode::inconclusive);
}

TEST_F(Fleet, DrainsForDecidedAndUndisturbedFindingsAlone) {
  struct Doubt {
    const char* what;
    double factor;
    std::function<void(VariantResult&)> disturb;
  };
  for (const Doubt& doubt :
       {Doubt{"tolerance", 1.055, [](VariantResult&) {}},
        Doubt{"disturbed", 1.5, [](VariantResult& result) { result.disturbed_samples = 1; }},
        Doubt{"disturbed", 1.5, [](VariantResult& result) {
                result.level_shift = LevelShift{0, 2, 1.3};
              }}}) {
    reset();
    for (Record& record : records_) {
      set_launches(record, 8);
      for (CaseResult& result : record.cases) result.variants[0].time = Seconds{1.0};
    }
    slow_down(node(5), doubt.factor, [](const Case& c) { return is_pair(c, 1, 3); });
    for (CaseResult& result : node(5).cases) doubt.disturb(result.variants[0]);
    FleetReport report = judge();
    const FleetNode& worst = report.nodes.front();
    EXPECT_EQ(worst.host, "node05");
    EXPECT_EQ(worst.state, NodeState::inconclusive);
    EXPECT_EQ(worst.blame, "GPU1–GPU3");
    EXPECT_EQ(worst.slow_cases, 0);
    EXPECT_NEAR(*worst.slowdown, doubt.factor, 1e-3);
    EXPECT_THAT(worst.findings, Contains(HasSubstr(doubt.what)));
    EXPECT_THAT(report.drain, IsEmpty());
    const bool is_close = doubt.what == std::string_view("tolerance");
    EXPECT_THAT(report.measure_again, SizeIs(is_close ? 0 : 1)) << "which would say the same";
    EXPECT_EQ(exit_code_of(report), ExitCode::inconclusive);
    if (is_close) {
      FleetOptions finer;
      const std::string& advice = worst.findings.front();
      finer.tolerance = std::stod(advice.substr(advice.find("--tolerance ") + 12)) / 100.0;
      EXPECT_THAT(judge(finer).drain, ElementsAre("node05"));
    }

    slow_down(node(5), 2.0, [](const Case& c) { return is_pair(c, 0, 1); });
    for (CaseResult& result : node(5).cases) {
      if (!is_pair(result.definition, 0, 1)) continue;
      result.variants[0].disturbed_samples = 0;
      result.variants[0].level_shift.reset();
    }
    report = judge();
    EXPECT_EQ(report.nodes.front().state, NodeState::slow) << "by another case";
    EXPECT_NEAR(*report.nodes.front().slowdown, 2.0, 1e-3);
    EXPECT_THAT(report.drain, ElementsAre("node05"));
    EXPECT_THAT(report.measure_again, IsEmpty());
  }
}

TEST_F(Fleet, TellsWhatMayMakeANodeSlow) {
  for (Record& record : records_) {
    record.settings.variants = {Variant{"p2p", {}}, Variant{"host", {}}};
    const Environment usual{{"NCCL_DEBUG", "WARN"}, {"NCCL_DEBUG_FILE", "jobs/nccl-on-3.%h.log"}};
    record.settings.environment_in_force = {usual, usual};
    for (RankInfo& rank : record.machine.ranks) {
      rank.gpu->power_limit_w = 700.0;
      rank.gpu->application_clock_mhz = 1980;
    }
  }
  node(5).settings.environment_in_force[0]["NCCL_ALGO"] = "Tree";
  node(5).settings.environment_in_force[0]["NCCL_DEBUG_FILE"] = "jobs/nccl-on-4.%h.log";
  node(5).settings.environment_in_force[1].clear();
  for (const std::size_t rank : {1U, 3U}) node(5).machine.ranks[rank].gpu->power_limit_w = 350.0;
  node(5).machine.ranks[2].gpu->application_clock_mhz = 1410;
  EXPECT_EQ(exit_code_of(judge()), ExitCode::success) << "none of it is a fault by itself";
  slow_down(node(5), 1.5, [](const Case&) { return true; });
  const FleetNode worst = judge().nodes.front();
  EXPECT_EQ(worst.state, NodeState::slow);
  EXPECT_THAT(worst.findings, AllOf(Contains(HasSubstr("GPU1, GPU3 power limit: 350 W")),
                                    Contains(HasSubstr("GPU2 application clock: 1410 MHz")),
                                    Contains(HasSubstr("NCCL_ALGO: Tree with p2p")),
                                    Contains(HasSubstr("NCCL_DEBUG: WARN with p2p")),
                                    Not(Contains(HasSubstr("NCCL_DEBUG_FILE")))));
}

void count_error(Record& record, ErrorCounter counter) {
  record.link_errors = LinkErrors{2, {{counter, 0, 3}}, {}};
}

TEST_F(Fleet, GivesWhatIsBrokenForTheStateOfASlowNode) {
  struct Fault {
    std::function<void(Record&)> harm;
    const char* where;
    const char* why;
  };
  for (const Fault& fault :
       {Fault{[](Record& record) {
                for (const int rank : {1, 3}) {
                  record.machine.ranks[static_cast<std::size_t>(rank)].gpu->nvlink_links_active =
                      12;
                }
                record.machine.links[4].nvlinks = 12;
              },
              "GPU1–GPU3",
              "GPU1, GPU3 active NVLinks: 12 of 18 where its peers have 18 of 18; "
              "GPU1–GPU3: NV12 where its peers have NV18"},
        Fault{[](Record& record) {
                for (const std::size_t link : {0U, 3U, 4U}) record.machine.links[link].nvlinks = 12;
                record.machine.ranks[1].gpu->nvlink_links_active = 12;
              },
              "GPU1",
              "GPU1 active NVLinks: 12 of 18 where its peers have 18 of 18; GPU0–GPU1, "
              "GPU1–GPU2, GPU1–GPU3: NV12 where its peers have NV18"},
        Fault{[](Record& record) { record.machine.links[4].nvlinks = 0; }, "GPU1–GPU3", "NODE"},
        Fault{[](Record& record) { record.machine.ranks[2].gpu->pcie_width = 8; }, "GPU2",
              "GPU2 PCIe: x8 where its peers have x16"},
        Fault{[](Record& record) { record.machine.ranks[2].gpu->nvlink_rate_gb_per_s = 13.28125; },
              "GPU2", "GPU2 slowest NVLink: 13.28 GB/s where its peers have 26.56 GB/s"},
        Fault{[](Record& record) {
                count_error(record, {2, ErrorKind::xid, {}, {}});
              },
              "GPU2", "3 Xid errors of GPU 2 during its run"},
        Fault{[](Record& record) {
                count_error(record, {0, ErrorKind::nvlink_outages, 7, 3});
              },
              "GPU0–GPU3", "3 outages of NVLink 7 of GPU 0 (to GPU 3) during its run"}}) {
    reset();
    for (Record& record : records_) {
      for (PairLink& link : record.machine.links) link.nvlinks = 18;
    }
    slow_down(node(5), 3.0, [](const Case&) { return true; });
    fault.harm(node(5));
    const FleetReport report = judge();
    const FleetNode& worst = report.nodes.front();
    EXPECT_EQ(worst.host, "node05");
    EXPECT_EQ(worst.state, NodeState::faulty) << fault.why;
    EXPECT_EQ(worst.blame, fault.where);
    EXPECT_THAT(worst.findings.front(), HasSubstr(fault.why));
    EXPECT_THAT(worst.findings, Contains(HasSubstr("slow in 20 of 40 cases")));
    EXPECT_THAT(report.drain, ElementsAre("node05"));
  }
}

TEST_F(Fleet, ShowsErrorsOfLinksThatAreNoFault) {
  count_error(node(5), {0, ErrorKind::nvlink_replays, 7, 3});
  const FleetReport report = judge();
  EXPECT_THAT(report.drain, IsEmpty()) << "a link sends again by itself";
  EXPECT_THAT(to_terminal(fleet_report(report)),
              AllOf(HasSubstr("GPU0–GPU3"), HasSubstr("3 replays"),
                    HasSubstr("11 nodes ok: node[01-04,06-12]")));
}

/// Says what is found: a node that is slower by so much is slow, and is open before it.
TEST_F(Fleet, CallsSlowWhatItSaysThatItDoes) {
  const auto share_after = [](const std::string& note, const std::string& words) {
    return std::stod(note.substr(note.find(words) + words.size())) / 100.0;
  };
  for (const int launches : {1, 8}) {
    for (Record& record : records_) set_launches(record, launches);
    const std::string note = judge().notes.back();
    const double slow = share_after(note, "a node that takes at least ");
    const double open = share_after(note, "slow; from ");
    EXPECT_LT(open, slow);
    const auto state_at = [&](double share) {
      for (Record& record : records_) {
        for (CaseResult& result : record.cases) result.variants[0].time = Seconds{1.0};
      }
      slow_down(node(5), 1.0 + share, [](const Case& c) { return is_pair(c, 1, 3); });
      return judge().nodes.front().state;
    };
    EXPECT_EQ(state_at(slow), NodeState::slow);
    EXPECT_EQ(state_at(open + 0.001), NodeState::inconclusive);
    EXPECT_EQ(state_at(open - 0.001), NodeState::ok);
    reset();
  }
}

/// Tells nobody to do what was done, nor what would not help.
TEST_F(Fleet, AdvisesLaunchesThatAreEnough) {
  const auto advice_for = [this](int launches, double tolerance) {
    for (Record& record : records_) set_launches(record, launches);
    FleetOptions options;
    options.tolerance = tolerance;
    for (const std::string& note : judge(options).notes) {
      const std::size_t place = note.find("--launches ");
      if (place != std::string::npos) return std::stoi(note.substr(place + 11));
    }
    return 0;
  };
  EXPECT_EQ(advice_for(1, 0.05), 8);
  EXPECT_EQ(advice_for(8, 0.05), 0);
  EXPECT_EQ(advice_for(64, 0.02), 0);
  EXPECT_EQ(advice_for(8, 0.001), 0) << "no number of them is enough";
  for (const int launches : {1, 2, 8, 12}) {
    const int more = advice_for(launches, 0.02);
    EXPECT_GT(more, launches);
    EXPECT_EQ(advice_for(more, 0.02), 0);
  }
}

}  // namespace
}  // namespace linkgain::test

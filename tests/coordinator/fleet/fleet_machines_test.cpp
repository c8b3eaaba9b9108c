// Tests which machines a fleet has, which of them are alike, and what their launches can tell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "fleet_fixture.hpp"
#include "linkgain/analysis/launch_statistics.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST_F(Fleet, LeavesOutARecordInTheFutureAndNamesIt) {
  for (int i = 1; i <= 12; ++i) node(i).started = "2020-01-02T00:00:00Z";
  Record future = node(5);
  future.started = "2999-01-01T00:00:00Z";
  records_.insert(records_.begin(), future);
  slow_down(records_[5], 1.5, [](const Case& c) { return c.pair.has_value(); });
  const FleetReport report = judge();
  EXPECT_THAT(report.drain, ElementsAre("node05")) << "by what it measured last";
  EXPECT_EQ(report.nodes.front().started, "2020-01-02T00:00:00Z");
  EXPECT_THAT(report.notes, Contains(HasSubstr("future, 2999-01-01: node05/record.json")));
  EXPECT_THAT(report.notes, Not(Contains(HasSubstr("older record"))));
}

TEST_F(Fleet, CountsAMachineOnceThatHasTwoNames) {
  records_.push_back(node(5));
  records_.back().machine.host = "renamed";
  records_.back().started = "2026-11-21T00:00:00Z";
  slow_down(node(5), 1.5, [](const Case& c) { return is_pair(c, 1, 3); });
  const FleetReport report = judge();
  EXPECT_THAT(report.nodes, SizeIs(12));
  EXPECT_THAT(report.drain, IsEmpty()) << "it was repaired";
  EXPECT_THAT(report.notes, Contains(AllOf(HasSubstr("renamed"), HasSubstr("node05"))));
  for (Record* record : {&node(5), &records_.back()}) {
    for (RankInfo& rank : record->machine.ranks) rank.gpu->uuid.clear();
  }
  EXPECT_THAT(judge().nodes, SizeIs(13)) << "names alone tell";
}

/// Accuses no node by a tolerance finer than one launch can tell.
TEST_F(Fleet, FindsMoreWithMoreLaunches) {
  FleetOptions fine;
  fine.tolerance = 0.02;
  slow_down(node(5), 1.05, [](const Case& c) { return is_pair(c, 1, 3); });
  EXPECT_THAT(judge(fine).drain, IsEmpty());
  for (Record& record : records_) set_launches(record, 8);
  EXPECT_THAT(judge(fine).drain, ElementsAre("node05"));
  for (Record& record : records_) {
    set_launches(record, 1);
    record.settings.launches = 8;
  }
  EXPECT_THAT(judge(fine).drain, IsEmpty()) << "of eight one was taken";
}

/// Judges nodes whose launches differ by as much as is assumed, few, half and most of them with one
/// launch, the others with eight.
TEST_F(Fleet, AccusesNobodyByChanceWhateverLaunchesNodesHave) {
  constexpr int kNodes = 300;
  for (const int with_one : {3, kNodes / 2, kNodes - 3}) {
    records_.clear();
    for (int i = 1; i <= kNodes; ++i) {
      const auto seed = static_cast<std::uint64_t>(i);
      const int launches = i <= with_one ? 1 : 8;
      records_.push_back(fleet_node(fmt::format("node{:03}", i), seed));
      set_launches(node(i), launches);
      FleetNoise noise(seed + 1000);
      for (CaseResult& result : node(i).cases) {
        const double deviation = assumed_deviation(result.definition.size) / std::sqrt(launches);
        for (VariantResult& variant : result.variants) {
          variant.time->value *= std::exp(deviation * noise.normal());
        }
      }
    }
    const FleetReport report = judge();
    EXPECT_THAT(report.drain, IsEmpty()) << with_one;
    EXPECT_THAT(report.measure_again, IsEmpty()) << with_one;
  }
}

/// Knows how `linkgain run` names its folders.
TEST_F(Fleet, NamesEachNodeOnceWhateverCannotBeRead) {
  const auto broken = [](const std::string& folder) {
    FleetRecord record;
    record.path = "results/" + folder + "/record.json";
    record.problem = "cut off";
    return record;
  };
  slow_down(node(5), 1.5, [](const Case& c) { return is_pair(c, 1, 3); });
  others_ = {broken("20261120T164000Z_node13_2xH200"), broken("20261120T174000Z_node13_2xH200-2"),
             broken("20261120T164000Z_node02_2xH200"), broken("node05")};
  FleetOptions options;
  options.expected = {"node13"};
  const FleetReport report = judge(options);
  ASSERT_THAT(report.nodes, SizeIs(13));
  EXPECT_EQ(report.nodes[0].host, "node02");
  EXPECT_EQ(report.nodes[0].state, NodeState::unreadable);
  EXPECT_EQ(report.nodes[0].judged_cases, 40);
  EXPECT_EQ(report.nodes[1].host, "node13");
  EXPECT_THAT(report.nodes[1].findings, SizeIs(2));
  EXPECT_EQ(report.nodes[2].host, "node05");
  EXPECT_EQ(report.nodes[2].state, NodeState::slow) << "though a file is broken";
  EXPECT_THAT(report.notes, SizeIs(2)) << "nothing was left out";
}

/// Covers runs on several hosts whose jobs never started.
TEST_F(Fleet, NamesARecordWithoutAHostByItsFolder) {
  for (const char* path : {"results/20261120T164000Z_node13_2xH200/journal.jsonl",
                           "results/node14/journal.jsonl", ""}) {
    FleetRecord record;
    record.path = path;
    record.status = RunStatus::incomplete;
    others_.push_back(record);
  }
  FleetOptions options;
  options.expected = {"node13", "node14"};
  const FleetReport report = judge(options);
  ASSERT_THAT(report.nodes, SizeIs(15)) << "none is missing, none stands for another";
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(report.nodes[i].state, NodeState::incomplete);
  EXPECT_THAT(report.drain, ElementsAre("node13", "node14"));
}

TEST_F(Fleet, TakesARunThatNeverStartedForOneOfTheSameMachine) {
  for (const char* started : {"2026-11-21T00:00:00Z", "1999-01-01T00:00:00Z"}) {
    reset();
    Record unstarted;
    node(5).started = "2026-11-20T16:40:00Z";
    unstarted.machine.host = "node05";
    unstarted.started = started;
    unstarted.status = RunStatus::incomplete;
    records_.push_back(unstarted);
    const FleetReport report = judge();
    ASSERT_THAT(report.nodes, SizeIs(12)) << "no machine with other GPUs";
    const bool newer = unstarted.started > node(5).started;
    EXPECT_EQ(report.nodes[0].state, newer ? NodeState::incomplete : NodeState::ok);
    EXPECT_EQ(report.drain.size(), newer ? 1U : 0U);
    EXPECT_THAT(report.nodes[0].findings,
                Contains(HasSubstr("an older record")).Times(newer ? 1 : 0));
  }
}

/// Hides no run that was measured, and says what was lost though another run is judged.
TEST_F(Fleet, KeepsWhatItKnowsBesideARunThatMayBeOfAnotherKindOrMachine) {
  const auto states_of = [this](const std::string& host) {
    std::vector<NodeState> states;
    for (const FleetNode& each : judge().nodes) {
      if (each.host == host) states.push_back(each.state);
    }
    return states;
  };
  slow_down(node(5), 2.0, [](const Case&) { return true; });
  Record unstarted;
  unstarted.machine.host = "node05";
  unstarted.started = "2999-01-01T00:00:00Z";
  unstarted.status = RunStatus::incomplete;
  unstarted.settings.program.emplace().command = {"train"};
  records_.push_back(unstarted);
  EXPECT_THAT(states_of("node05"), UnorderedElementsAre(NodeState::slow, NodeState::incomplete));

  unstarted.machine.host = "node04";
  unstarted.settings.program.reset();
  records_.push_back(node(4));
  for (RankInfo& rank : records_.back().machine.ranks) rank.gpu->uuid += "-other";
  records_.push_back(unstarted);
  EXPECT_THAT(states_of("node04"),
              UnorderedElementsAre(NodeState::ok, NodeState::ok, NodeState::incomplete));

  records_.push_back(later_program(node(3), "train"));
  records_.back().status = RunStatus::job_lost;
  records_.back().cases.clear();
  EXPECT_THAT(states_of("node03"), UnorderedElementsAre(NodeState::ok, NodeState::incomplete));
}

TEST_F(Fleet, NamesTheNodeOfAFolderThatCannotBeRead) {
  for (const char* folder : {"results/20261120T164000Z_node13.cluster_2xH200", "results/node14"}) {
    others_.emplace_back().path = folder;
    others_.back().problem = "cannot be read";
  }
  const FleetReport report = judge();
  ASSERT_THAT(report.nodes, SizeIs(14));
  EXPECT_EQ(report.nodes[0].host, "node13.cluster");
  EXPECT_EQ(report.nodes[1].host, "node14");
  EXPECT_EQ(report.nodes[1].state, NodeState::unreadable);
  EXPECT_EQ(exit_code_of(report), ExitCode::problem_found);
}

TEST_F(Fleet, DrainsANameOnce) {
  records_.push_back(node(4));
  for (RankInfo& rank : records_.back().machine.ranks) rank.gpu->uuid.replace(4, 4, "rack");
  slow_down(node(4), 1.5, [](const Case& c) { return is_pair(c, 1, 3); });
  slow_down(node(13), 1.5, [](const Case& c) { return is_pair(c, 1, 3); });
  const FleetReport report = judge();
  EXPECT_THAT(report.drain, ElementsAre("node04"));
  EXPECT_EQ(report.nodes[1].host, "node04");
  EXPECT_THAT(report.nodes[1].findings, Contains(HasSubstr("node04/record.json")));
  EXPECT_THAT((std::vector{shown_name(report.nodes[0]), shown_name(report.nodes[1])}),
              UnorderedElementsAre("node04 (GPU-rack04)", "node04 (GPU-node04)"));
  EXPECT_EQ(shown_name(report.nodes[2]), "node01");
}

/// Covers virtual machines, many of which are called "vm".
TEST_F(Fleet, TellsMachinesOfOneNameApartByGpusOrProcessor) {
  for (Record& record : records_) record.machine.host = "vm";
  FleetReport report = judge();
  ASSERT_THAT(report.nodes, SizeIs(12));
  std::set<std::string> names;
  for (const FleetNode& each : report.nodes) names.insert(shown_name(each));
  EXPECT_THAT(names, SizeIs(12));
  for (Record& record : records_) {
    record.machine.links.clear();
    for (RankInfo& rank : record.machine.ranks) rank.gpu.reset();
  }
  node(7).machine.processor = "AMD EPYC 9654";
  report = judge();
  ASSERT_THAT(report.nodes, SizeIs(2));
  EXPECT_THAT((std::vector{shown_name(report.nodes[0]), shown_name(report.nodes[1])}),
              UnorderedElementsAre("vm (AMD EPYC 9654)", "vm (Intel(R) Xeon(R) Platinum 8468)"));
  EXPECT_THAT(report.notes, Contains(HasSubstr("no GPUs to tell machines apart")));
  EXPECT_EQ(exit_code_of(report), ExitCode::inconclusive);
}

TEST_F(Fleet, TakesTheSameGpusInAnotherOrderForTheSameMachine) {
  Record turned = node(4);
  std::swap(turned.machine.ranks[0].gpu->uuid, turned.machine.ranks[1].gpu->uuid);
  records_.push_back(turned);
  EXPECT_THAT(judge().nodes, SizeIs(12));
}

/// Judges by the record that can be compared with the others', not by a later one that cannot.
TEST_F(Fleet, FindsTheSlowNodeBehindALaterRecordOfAnotherKind) {
  slow_down(node(3), 2.0, [](const Case&) { return true; });
  records_.push_back(later_program(node(3), "train"));
  FleetReport report = judge();
  EXPECT_THAT(report.nodes, SizeIs(12));
  EXPECT_EQ(report.nodes[0].state, NodeState::slow);
  EXPECT_THAT(report.drain, ElementsAre("node03"));
  reset();
  for (Record& record : records_) {
    record.machine.links.clear();
    for (RankInfo& rank : record.machine.ranks) rank.gpu.reset();
  }
  slow_down(node(3), 2.0, [](const Case&) { return true; });
  records_.push_back(node(3));
  records_.back().started = "2026-11-21T00:00:00Z";
  records_.back().machine.ranks.pop_back();
  report = judge();
  EXPECT_THAT(report.nodes, SizeIs(12));
  EXPECT_THAT(report.drain, ElementsAre("node03"));
}

/// Covers a node that no longer reports: it was ok, for ever.
TEST_F(Fleet, JudgesNoNodeByARecordFarOlderThanItsPeers) {
  node(5).started = "2026-08-01T16:40:00Z";
  slow_down(node(5), 2.0, [](const Case&) { return true; });
  FleetReport report = judge();
  ASSERT_THAT(report.nodes, SizeIs(12));
  EXPECT_EQ(report.nodes[0].host, "node05");
  EXPECT_EQ(report.nodes[0].state, NodeState::stale);
  EXPECT_THAT(report.nodes[0].findings,
              ElementsAre(AllOf(HasSubstr("2026-08-01"), HasSubstr("111 days"))));
  EXPECT_THAT(report.drain, IsEmpty());
  EXPECT_THAT(report.measure_again, ElementsAre("node05"));
  EXPECT_EQ(exit_code_of(report), ExitCode::inconclusive);
  EXPECT_THAT(report.notes[0], HasSubstr("11 nodes"));
  records_.push_back(fleet_node("node05", 5));
  for (RankInfo& rank : records_.back().machine.ranks) rank.gpu->uuid += "-new";
  report = judge();
  EXPECT_THAT(report.nodes, SizeIs(12)) << "its GPUs were replaced";
  EXPECT_EQ(exit_code_of(report), ExitCode::success);
  EXPECT_THAT(report.notes, Contains(HasSubstr("1 older record")));
}

/// Covers fleets that check each node once in a while, or other machines in another month.
TEST_F(Fleet, TakesRecordsOfDifferentDaysWhereTheyDifferAll) {
  for (int i = 1; i <= 12; ++i) node(i).started = fmt::format("2026-{:02}-20T16:40:00Z", i);
  FleetReport report = judge();
  EXPECT_EQ(exit_code_of(report), ExitCode::success);
  EXPECT_THAT(report.notes, Contains(HasSubstr("2026-01-20 to 2026-12-20")));
  reset();
  for (int i = 1; i <= 4; ++i) {
    node(i).started = "2026-08-01T16:40:00Z";
    for (RankInfo& rank : node(i).machine.ranks) rank.gpu->name = "NVIDIA L4";
  }
  EXPECT_EQ(exit_code_of(judge()), ExitCode::success);
}

TEST_F(Fleet, ComparesProgramsWithTheSameAlone) {
  for (int i = 1; i <= 12; ++i) records_.push_back(later_program(node(i), "train"));
  records_.push_back(later_program(node(1), "serve"));
  slow_down(node(17), 2.0, [](const Case&) { return true; });
  const FleetReport report = judge();
  EXPECT_THAT(report.nodes, SizeIs(24)) << "one program ran on one node alone";
  EXPECT_EQ(report.nodes[0].state, NodeState::slow);
  EXPECT_EQ(report.nodes[0].slow_cases, 1);
  EXPECT_EQ(report.nodes[1].state, NodeState::ok);
  EXPECT_THAT(report.drain, ElementsAre("node05"));
}

TEST_F(Fleet, ForgetsLinksThatWereRepaired) {
  records_.push_back(node(4));
  records_.back().started = "2026-11-21T00:00:00Z";
  node(4).machine.links[4].nvlink = false;
  EXPECT_THAT(judge().drain, IsEmpty());
}

void count_links(Record& record, int count) {
  for (PairLink& link : record.machine.links) link.nvlinks = count;
}

TEST_F(Fleet, CountsTheLinksOfEveryPair) {
  for (Record& record : records_) count_links(record, 18);
  node(7).machine.links[4].nvlinks = 9;
  const FleetReport report = judge();
  EXPECT_EQ(report.nodes[0].host, "node07");
  EXPECT_EQ(report.nodes[0].state, NodeState::faulty);
  EXPECT_EQ(report.nodes[0].blame, "GPU1–GPU3");
  EXPECT_THAT(report.nodes[0].findings,
              ElementsAre(AllOf(HasSubstr("GPU1–GPU3: NV9"), HasSubstr("NV18"))));
  EXPECT_THAT(report.drain, ElementsAre("node07"));
}

/// Leaves open which of two numbers of links is right where many machines have each.
TEST_F(Fleet, DrainsNoMachineForMoreLinksThanItsPeers) {
  for (const int with_fewer : {10, 6}) {
    reset();
    for (int i = 1; i <= 12; ++i) {
      count_links(node(i), i <= with_fewer ? 17 : 18);
      for (RankInfo& rank : node(i).machine.ranks) {
        rank.gpu->nvlink_links_active = i <= with_fewer ? 17 : 18;
      }
    }
    const FleetReport report = judge();
    EXPECT_THAT(report.drain, IsEmpty());
    EXPECT_THAT(report.measure_again, IsEmpty());
    EXPECT_EQ(exit_code_of(report), ExitCode::inconclusive);
    for (int i = 1; i <= with_fewer; ++i) {
      const auto each = std::ranges::find(report.nodes, node(i).machine.host, &FleetNode::host);
      EXPECT_EQ(each->state, NodeState::odd_machine);
      EXPECT_THAT(
          each->findings,
          Contains(HasSubstr("17 of 18 where other nodes with the same GPUs have 18 of 18")));
      EXPECT_EQ(each->judged_cases, 40);
    }
  }
}

/// Covers a fleet half of whose records are older than the count.
TEST_F(Fleet, HoldsNoCountThatWasNotTakenAgainstAMachine) {
  for (int i = 1; i <= 5; ++i) count_links(node(i), 18);
  node(9).machine.ranks[2].gpu->nvlink_links_active.reset();
  node(2).machine.links[0].nvlinks.reset();
  const FleetReport report = judge();
  EXPECT_THAT(report.drain, IsEmpty());
  EXPECT_EQ(report.nodes[0].state, NodeState::ok);
  EXPECT_THAT(report.notes[0], HasSubstr("12 nodes with 4 x NVIDIA H200"));
  node(3).machine.links[0].nvlinks = 9;
  EXPECT_THAT(judge().drain, ElementsAre("node03"));
}

/// Matters without GPUs, where messages go through the processor.
TEST_F(Fleet, ComparesProcessorsOfOneModel) {
  for (int i = 1; i <= 12; ++i) {
    node(i).machine.links.clear();
    for (RankInfo& rank : node(i).machine.ranks) rank.gpu.reset();
    if (i > 6) node(i).machine.processor = "AMD EPYC 9654";
    if (i > 6) slow_down(node(i), 3.0, [](const Case&) { return true; });
  }
  node(12).machine.processor = "AMD EPYC 7763";
  const FleetReport report = judge();
  EXPECT_THAT(report.drain, IsEmpty());
  EXPECT_EQ(report.nodes[0].host, "node12");
  EXPECT_EQ(report.nodes[0].state, NodeState::not_judged);
  EXPECT_EQ(report.nodes[1].judged_cases, 40);
}

}  // namespace
}  // namespace linkgain::test

#include "linkgain/analysis/path_validity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/analysis/run_validity.hpp"
#include "support/golden.hpp"
#include "verdict_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Judge, AVariantWithoutP2pThatUsedItIsOnTheWrongPath) {
  for (const Path path : {Path::nvlink, Path::pcie_p2p, Path::mixed}) {
    Record record = good_record();
    set_path(record, 1, path);
    EXPECT_EQ(judge(record), ExitCode::wrong_path) << name_of(path);
    EXPECT_EQ(std::ranges::count(record.warnings, "wrong-path", &Warning::code), 1)
        << "once, not for every case";
    EXPECT_THAT(record.warnings[0].text, HasSubstr("variant host"));
  }
  for (const Path path : {Path::host_memory, Path::network, Path::unknown}) {
    Record record = good_record();
    set_path(record, 1, path);
    EXPECT_EQ(judge(record), ExitCode::success) << name_of(path);
  }
}

TEST(Judge, AFreeVariantThatLeftNvlinkAloneIsOnTheWrongPath) {
  for (const Path path : {Path::host_memory, Path::network}) {
    Record record = good_record();
    set_path(record, 0, path);
    EXPECT_EQ(judge(record), ExitCode::wrong_path) << name_of(path);
    EXPECT_THAT(record.warnings[0].text, HasSubstr("variant p2p"));
  }
}

TEST(Judge, AFreeVariantWithoutP2pIsNoErrorWhereTheMachineOffersNone) {
  const auto with_links = [](std::optional<bool> p2p, std::optional<bool> nvlink) {
    Record record = good_record();
    record.machine.links = {{0, 1, p2p, nvlink}};
    set_path(record, 0, Path::host_memory);
    return judge(record);
  };
  EXPECT_EQ(with_links(true, true), ExitCode::wrong_path);
  EXPECT_EQ(with_links(false, true), ExitCode::success);
  EXPECT_EQ(with_links(true, false), ExitCode::success);
  EXPECT_EQ(with_links(std::nullopt, true), ExitCode::success);
  EXPECT_EQ(with_links(true, std::nullopt), ExitCode::success);
}

TEST(Judge, AFreeVariantThatLeftP2pOverPcieAloneIsOnTheWrongPath) {
  const auto with = [](std::vector<PairLink> links, Path path, const Environment& caller = {}) {
    Record record = good_record();
    record.machine.links = std::move(links);
    record.settings.environment_in_force[0] = caller;
    set_path(record, 0, path);
    return judge(record);
  };
  using enum Ancestor;
  for (const Ancestor near : {pix, pxb}) {
    EXPECT_EQ(with({{0, 1, true, false, near}}, Path::host_memory), ExitCode::wrong_path);
    EXPECT_EQ(with({{0, 1, true, false, near}}, Path::network), ExitCode::wrong_path);
    EXPECT_EQ(with({{0, 1, true, false, near}}, Path::pcie_p2p), ExitCode::success);
    EXPECT_EQ(with({{0, 1, false, false, near}}, Path::host_memory), ExitCode::success);
  }
  for (const Ancestor far : {phb, node, sys}) {
    EXPECT_EQ(with({{0, 1, true, false, far}}, Path::host_memory), ExitCode::success);
  }
  const std::vector<PairLink> pair{{0, 1, true, false, pix}};
  EXPECT_EQ(with(pair, Path::host_memory, {{"NCCL_P2P_LEVEL", "NVL"}}), ExitCode::success);
  EXPECT_EQ(with(pair, Path::host_memory, {{"NCCL_P2P_LEVEL", "SYS"}}), ExitCode::wrong_path);
  EXPECT_EQ(with(pair, Path::host_memory, {{"NCCL_P2P_DISABLE", "01"}}), ExitCode::success);
  EXPECT_EQ(with(pair, Path::host_memory, {{"NCCL_P2P_LEVEL", "LOC"}}), ExitCode::success);
  EXPECT_EQ(with(pair, Path::pcie_p2p, {{"NCCL_P2P_LEVEL", "LOC"}}), ExitCode::wrong_path);
  // Bridged in pairs: the bridges' own pairs may be far apart, the others not.
  EXPECT_EQ(with({{0, 1, true, true, sys}, {0, 2, true, false, pxb}}, Path::host_memory),
            ExitCode::wrong_path);
  EXPECT_EQ(with({{0, 1, true, true, pix}, {0, 2, true, false, phb}}, Path::host_memory),
            ExitCode::success);
  EXPECT_EQ(with({{0, 1, true, true, pix}, {0, 2, true, false, pxb}}, Path::mixed),
            ExitCode::success);
}

TEST(Judge, AForcedVariantPromisesNothing) {
  Record record = good_record();
  record.settings.variants[0].environment = {{"NCCL_ALGO", "Tree"}};
  set_path(record, 0, Path::network);
  EXPECT_EQ(judge(record), ExitCode::success);
}

TEST(Evidence, AsExpectedIsInOrder) {
  Record record = counted_record(1.004, 0.0);
  EXPECT_EQ(judge(record), ExitCode::success);
  EXPECT_THAT(record.warnings, IsEmpty());
  record = counted_record(0.99, 0.0009);  // below the band
  EXPECT_EQ(judge(record), ExitCode::success);
}

TEST(Evidence, SmallMessagesAreNotJudged) {
  Record record = counted_record(0.2, 0.3);
  record.cases.back().definition.size = Bytes{1 << 20};
  for (VariantResult& variant : record.cases.back().variants) {
    variant.evidence->judged = false;
    variant.evidence->reason = "messages are small";
  }
  EXPECT_EQ(judge(record), ExitCode::success);
  EXPECT_THAT(record.warnings, IsEmpty());
}

TEST(Evidence, PartlyJoinedGpusMayMix) {
  Record record = counted_record(0.4, 0.0);
  set_path(record, 0, Path::mixed);
  record.machine.links = {{0, 1, true, true}, {0, 2, true, false}, {1, 2, true, false}};
  EXPECT_EQ(judge(record), ExitCode::success);
  EXPECT_THAT(codes(record), Not(::testing::Contains("wrong-path")));
}

TEST(Evidence, P2pOfEveryDistanceIsPromisedNvlinkWhereItIs) {
  Record record = counted_record(0.4, 0.0);
  record.settings.variants[0] = {"p2p-sys", {{"NCCL_P2P_LEVEL", "SYS"}}};
  record.settings.environment_in_force[0] = record.settings.variants[0].environment;
  for (CaseResult& result : record.cases) result.variants[0].variant = "p2p-sys";
  EXPECT_EQ(judge(record), ExitCode::wrong_path);
}

TEST(Evidence, HostsMayMixSharedMemoryAndNetwork) {
  Record record = good_record();
  set_path(record, 1, Path::mixed);
  record.machine.links = {{0, 1, std::nullopt, std::nullopt}};
  record.machine.ranks.resize(2);
  record.machine.ranks[0].host = "node1";
  record.machine.ranks[1].host = "node2";
  EXPECT_EQ(judge(record), ExitCode::success);
  record.machine.ranks[1].host = "node1";
  EXPECT_EQ(judge(record), ExitCode::wrong_path);
}

TEST(Judge, SaysWhyAPathIsWrongAndHowToGetThere) {
  std::string text;
  const auto add = [&](const std::string& situation, const auto& change) {
    text += judged(situation, good_record(), change);
  };
  add("host over NVLink", [](Record& record) { set_path(record, 1, Path::nvlink); });
  add("p2p through the host", [](Record& record) { set_path(record, 0, Path::host_memory); });
  for (const auto& [name, value] :
       Environment{{"NCCL_P2P_DISABLE", "1"}, {"NCCL_P2P_LEVEL", "LOC"}}) {
    add("p2p through the host, where the caller set " + name, [&](Record& record) {
      record.settings.environment_in_force[0] = {{name, value}};
      set_path(record, 0, Path::host_memory);
    });
  }
  add("p2p through the host, where P2P goes by PCIe switches", [](Record& record) {
    record.machine.links = {{0, 1, true, false, Ancestor::pix}};
    set_path(record, 0, Path::host_memory);
  });
  const auto without_shared_memory = [](Record& record) {
    record.settings.variants[1].environment["NCCL_SHM_DISABLE"] = "1";
    record.settings.environment_in_force[1] = record.settings.variants[1].environment;
  };
  add("without shared memory through the host", without_shared_memory);
  add("without shared memory by the network", [&](Record& record) {
    without_shared_memory(record);
    set_path(record, 1, Path::network);
  });
  const auto across_the_host_bridge = [](Record& record) {
    record.settings.variants[1] = {"p2p-sys", {{"NCCL_P2P_LEVEL", "SYS"}}};
    record.settings.environment_in_force[1] = record.settings.variants[1].environment;
    record.machine.links = {{0, 1, true, false}};
    set_path(record, 0, Path::host_memory);
  };
  add("p2p-sys through the host", across_the_host_bridge);
  add("p2p-sys through the host, where the driver refuses P2P", [&](Record& record) {
    across_the_host_bridge(record);
    record.machine.links = {{0, 1, false, false}};
  });
  add("p2p-sys by PCIe", [&](Record& record) {
    across_the_host_bridge(record);
    set_path(record, 1, Path::pcie_p2p);
  });
  expect_golden(text, "warnings_of_paths.txt");
}

/// Adds what the variant itself sets, which holds where the worker did not say otherwise.
std::string with_bytes_off_p2p(const std::string& version, Environment in_force) {
  std::string situation = "bytes over NVLink without P2P, NCCL " + version;
  for (const auto& [name, value] : in_force) situation.append(", ").append(name + "=" + value);
  in_force["NCCL_P2P_DISABLE"] = "1";
  return judged(situation, counted_record(1.004, 0.5), [&](Record& record) {
    record.machine.software.nccl_library = version;
    record.settings.environment_in_force[1] = in_force;
  });
}

TEST(Evidence, AdvisesByTheVersionOfTheVariantsOwnLibrary) {
  Record record = counted_record(1.004, 0.5);
  Settings& settings = record.settings;
  settings.environment_in_force[1] = {{"NCCL_P2P_DISABLE", "1"}, {"NCCL_NVLS_ENABLE", "0"}};
  settings.software_in_force.resize(2);
  const auto advice = [&](const std::string& first, const std::string& second) {
    settings.software_in_force[0].nccl_library = first;
    settings.software_in_force[1].nccl_library = second;
    Record judged = record;
    judge_paths(judged);
    return judged.warnings.at(0).advice;
  };
  EXPECT_THAT(advice("2.28.3", "2.28.7"), testing::HasSubstr("NCCL_WIN_ENABLE=0"));
  EXPECT_THAT(advice("2.28.7", "2.28.3"), testing::Not(testing::HasSubstr("NCCL_WIN_ENABLE")));
}

TEST(Evidence, ReadsNoVariantThatIsNotThere) {
  Record record = counted_record(1.004, 0.5);
  record.settings.software_in_force.resize(64);
  judge_paths(record);
  EXPECT_THAT(record.warnings, testing::Not(testing::IsEmpty()));
}

TEST(Evidence, SaysWhatContradictsAVariantAndWhatIsMissing) {
  std::string text;
  const auto add = [&](const std::string& situation, const Record& record, const auto& change) {
    text += judged(situation, record, change);
  };
  text += with_bytes_off_p2p("2.28.3", {{"NCCL_NVLS_ENABLE", "1"}});
  text += with_bytes_off_p2p("2.28.7", {{"NCCL_NVLS_ENABLE", "0"}});
  text += with_bytes_off_p2p("2.28.7", {{"NCCL_NVLS_ENABLE", "2"}});
  text += with_bytes_off_p2p("2.28.7", {{"NCCL_NVLS_ENABLE", "0"}, {"NCCL_WIN_ENABLE", "0"}});
  text += with_bytes_off_p2p("2.28.3", {{"NCCL_NVLS_ENABLE", "0"}});
  for (const std::int64_t sent : {10 * (std::int64_t{64} << 20), std::int64_t{1000}}) {
    add(std::to_string(sent) + " bytes by NVLS without P2P", counted_record(1.0, 0.0),
        [&](Record& record) {
          TrafficEvidence& evidence = *record.cases.back().variants[1].evidence;
          evidence.plan = {"NVLS", "SIMPLE"};
          evidence.expected.reset();
          evidence.judged = false;
          evidence.reason = "the traffic of NVLS is not known";
          evidence.nvlink_sent = sent;
        });
  }
  add("40 % where the transport lines say nvlink", counted_record(0.4, 0.0), [](Record&) {});
  for (const char* name :
       {"NCCL_P2P_DIRECT_DISABLE", "NCCL_TOPO_FILE", "NCCL_HOSTID", "NCCL_P2P_LEVEL"}) {
    const std::string value = std::string(name) == "NCCL_P2P_LEVEL" ? "SYS" : "1";
    add("no bytes with " + std::string(name) + "=" + value, counted_record(0.0, 0.0),
        [&](Record& record) {
          record.settings.environment_in_force[0] = {{name, value}};
        });
  }
  add("120 %", counted_record(1.2, 0.0), [](Record&) {});
  const auto take_counters = [](Record& record) {
    for (VariantResult& variant : record.cases.back().variants) {
      variant.evidence->nvlink_sent.reset();
      variant.evidence->judged = false;
      variant.evidence->reason = "the library lacks nvmlDeviceGetFieldValues";
    }
  };
  add("one case cannot be counted, another was not", counted_record(1.0, 0.0), [&](Record& record) {
    take_counters(record);
    record.cases.push_back(case_of(128 << 20, Path::nvlink, Path::host_memory));
  });
  add("not counted, and no NVLink to count", counted_record(1.0, 0.0), [](Record& record) {
    record.cases.back().variants[0].evidence.reset();
    record.machine.links = {{0, 1, false, false}};
  });
  add("two cases were counted and cannot be judged", counted_record(1.0, 0.0), [](Record& record) {
    TrafficEvidence& evidence = *record.cases.back().variants[0].evidence;
    evidence.expected.reset();
    evidence.judged = false;
    evidence.reason = "nothing is known of what NVLS moves";
    evidence.nvlink_sent = 1'500'000'000;
    record.cases.push_back(record.cases.back());
  });
  expect_golden(text, "warnings_of_evidence.txt");
}

TEST(Evidence, OfSkippedVariantsSaysNothing) {
  Record record = good_record();
  record.cases[1].variants[1] = {};
  record.cases[1].variants[1].variant = "host";
  record.cases[1].variants[1].skipped = Skip{.refusal = "out of memory"};
  record.cases[1].variants[1].path = Path::nvlink;
  EXPECT_EQ(judge(record), ExitCode::success);
}

TEST(SamePath, IsOnlyWhatIsKnown) {
  const VariantResult host = measured("a", Path::host_memory);
  EXPECT_TRUE(linkgain::same_path(host, measured("b", Path::host_memory)));
  EXPECT_FALSE(linkgain::same_path(host, measured("b", Path::nvlink)));
  EXPECT_FALSE(linkgain::same_path(measured("a", Path::unknown), measured("b", Path::unknown)));
  EXPECT_FALSE(linkgain::same_path(measured("a", Path::mixed), measured("b", Path::mixed)));
  VariantResult skipped = host;
  skipped.time.reset();
  EXPECT_FALSE(linkgain::same_path(host, skipped));
}

}  // namespace
}  // namespace linkgain::test

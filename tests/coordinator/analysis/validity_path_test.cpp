#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/analysis/run_validity.hpp"
#include "verdict_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Judge, AVariantWithoutP2pThatUsedItIsOnTheWrongPath) {
  for (const Path path : {Path::nvlink, Path::pcie_p2p, Path::mixed}) {
    Record record = good_record();
    set_path(record, 1, path);
    EXPECT_EQ(judge(record), ExitCode::wrong_path) << name_of(path);
    EXPECT_EQ(std::count_if(record.warnings.begin(), record.warnings.end(),
                            [](const Warning& w) { return w.code == "wrong-path"; }),
              1)
        << "once, not for every case";
    EXPECT_THAT(record.warnings[0].text, HasSubstr("variant host: NCCL_P2P_DISABLE=1 is set"));
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
    EXPECT_THAT(record.warnings[0].text, HasSubstr("variant p2p: NVLink joins every pair"));
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
  // Bridged in pairs: the bridges' own pairs may be far apart, the others not.
  EXPECT_EQ(with({{0, 1, true, true, sys}, {0, 2, true, false, pxb}}, Path::host_memory),
            ExitCode::wrong_path);
  EXPECT_EQ(with({{0, 1, true, true, pix}, {0, 2, true, false, phb}}, Path::host_memory),
            ExitCode::success);
  EXPECT_EQ(with({{0, 1, true, true, pix}, {0, 2, true, false, pxb}}, Path::mixed),
            ExitCode::success);
}

TEST(Judge, AFreeVariantMayBeKeptOffByTheCallersEnvironment) {
  for (const auto& [name, value] :
       Environment{{"NCCL_P2P_DISABLE", "1"}, {"NCCL_P2P_LEVEL", "LOC"}}) {
    Record record = good_record();
    record.settings.environment_in_force[0] = {{name, value}};
    set_path(record, 0, Path::host_memory);
    EXPECT_EQ(judge(record), ExitCode::success) << name;
    ASSERT_THAT(codes(record), ::testing::Contains("inherited-variable"));
    EXPECT_THAT(
        warning(record, "inherited-variable").text,
        HasSubstr(name + "=" + value + " was already set and holds for variant p2p: it keeps"));
    EXPECT_THAT(warning(record, "inherited-variable").advice, HasSubstr("nccl.conf"));
  }
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
  record = counted_record(0.99, 0.0009);
  EXPECT_EQ(judge(record), ExitCode::success) << "noise below the band";
}

TEST(Evidence, BytesOverNvlinkWithoutP2pNameTheRoadThatIsOpen) {
  const auto with = [](const char* version, Environment in_force) {
    Record record = counted_record(1.004, 0.5);
    record.machine.software.nccl_library = version;
    in_force["NCCL_P2P_DISABLE"] = "1";
    record.settings.environment_in_force[1] = in_force;
    EXPECT_EQ(judge(record), ExitCode::wrong_path);
    EXPECT_THAT(
        warning(record, "wrong-path").text,
        AllOf(HasSubstr("variant host: NCCL_P2P_DISABLE=1 is set, and yet NVLink carried"),
              HasSubstr("all_reduce/float32/sum/64MiB/np2 (50.0 % of the expected bytes)")));
    return warning(record, "wrong-path").advice;
  };
  // What the variant itself sets holds where the worker did not say otherwise.
  EXPECT_THAT(with("2.28.3", {{"NCCL_NVLS_ENABLE", "1"}}), HasSubstr("set NCCL_NVLS_ENABLE=0"));
  EXPECT_THAT(with("2.28.7", {{"NCCL_NVLS_ENABLE", "0"}}), HasSubstr("set NCCL_WIN_ENABLE=0"));
  EXPECT_THAT(with("2.28.7", {{"NCCL_NVLS_ENABLE", "2"}}), HasSubstr("set NCCL_NVLS_ENABLE=0"));
  EXPECT_THAT(with("2.28.7", {{"NCCL_NVLS_ENABLE", "0"}, {"NCCL_WIN_ENABLE", "0"}}),
              HasSubstr("nvidia-smi"));
  EXPECT_THAT(with("2.28.3", {{"NCCL_NVLS_ENABLE", "0"}}), HasSubstr("nvidia-smi"));
}

TEST(Evidence, NvlsHasNoExpectationAndIsFoundAllTheSame) {
  Record record = counted_record(1.0, 0.0);
  WireEvidence& evidence = *record.cases.back().variants[1].evidence;
  evidence.plan = {"NVLS", "SIMPLE"};
  evidence.expected.reset();
  evidence.judged = false;
  evidence.reason = "the traffic of NVLS is not known";
  evidence.nvlink_sent = 10 * (std::int64_t{64} << 20);
  EXPECT_EQ(judge(record), ExitCode::wrong_path);
  EXPECT_THAT(warning(record, "wrong-path").text, HasSubstr("0.671 GB in 10 operations"));
  record.warnings.clear();
  evidence.nvlink_sent = 1000;
  EXPECT_EQ(judge(record), ExitCode::success) << "counters of an idle link";
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

TEST(Evidence, TooFewBytesContradictTheTransportLines) {
  Record record = counted_record(0.4, 0.0);  // the lines say nvlink, the counters less
  EXPECT_EQ(judge(record), ExitCode::wrong_path);
  EXPECT_THAT(warning(record, "wrong-path").text,
              AllOf(HasSubstr("variant p2p: NVLink joins every pair and nothing forbids P2P"),
                    HasSubstr("40.0 % of the expected bytes")));
  EXPECT_THAT(warning(record, "wrong-path").advice,
              AllOf(HasSubstr("linkgain doctor"), HasSubstr("--ipc=host"), HasSubstr("ACS"),
                    HasSubstr("NCCL's log")));
}

TEST(Evidence, ACauseInTheVariablesInForceIsNamed) {
  for (const char* name : {"NCCL_P2P_DIRECT_DISABLE", "NCCL_TOPO_FILE", "NCCL_HOSTID"}) {
    Record record = counted_record(0.0, 0.0);
    record.settings.environment_in_force[0] = {{name, "1"}};
    EXPECT_EQ(judge(record), ExitCode::wrong_path);
    EXPECT_THAT(warning(record, "wrong-path").advice,
                AllOf(HasSubstr(std::string("unset ") + name + "=1"), HasSubstr("~/.nccl.conf")));
  }
  Record record = counted_record(0.0, 0.0);
  record.settings.environment_in_force[0] = {{"NCCL_P2P_LEVEL", "SYS"}};
  EXPECT_EQ(judge(record), ExitCode::wrong_path) << "every level but LOC allows NVLink";
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

TEST(Evidence, SharedMemoryIsNoNetwork) {
  Record record = good_record();
  record.settings.variants[1].environment["NCCL_SHM_DISABLE"] = "1";
  record.settings.environment_in_force[1] = record.settings.variants[1].environment;
  EXPECT_EQ(judge(record), ExitCode::wrong_path);
  EXPECT_THAT(warning(record, "wrong-path").text, HasSubstr("NCCL_SHM_DISABLE=1 is set"));
  record.warnings.clear();
  set_path(record, 1, Path::network);
  EXPECT_EQ(judge(record), ExitCode::success);
}

TEST(Evidence, P2pAcrossTheHostBridgeIsPromisedByItsLevel) {
  Record record = good_record();
  record.settings.variants[1] = {"p2p-sys", {{"NCCL_P2P_LEVEL", "SYS"}}};
  record.settings.environment_in_force[1] = record.settings.variants[1].environment;
  record.machine.links = {{0, 1, true, false}};
  set_path(record, 0, Path::host_memory);
  EXPECT_EQ(judge(record), ExitCode::wrong_path);
  EXPECT_THAT(warning(record, "wrong-path").text, HasSubstr("the driver allows P2P"));
  record.warnings.clear();
  record.machine.links = {{0, 1, false, false}};
  EXPECT_EQ(judge(record), ExitCode::success) << "refused by the driver";
  record.machine.links = {{0, 1, true, false}};
  set_path(record, 1, Path::pcie_p2p);
  EXPECT_EQ(judge(record), ExitCode::success);
}

TEST(Evidence, MoreThanExpectedIsOthersWork) {
  Record record = counted_record(1.2, 0.0);
  EXPECT_EQ(judge(record), ExitCode::success);
  ASSERT_THAT(codes(record), ElementsAre("links-disturbed"));
  EXPECT_THAT(record.warnings[0].text, AllOf(HasSubstr("up to 120.0 %"), HasSubstr("with p2p")));
  EXPECT_THAT(record.warnings[0].advice, HasSubstr("nvidia-smi"));
}

TEST(Evidence, IsMissedOncePerReason) {
  Record record = counted_record(1.0, 0.0);
  for (VariantResult& variant : record.cases.back().variants) {
    variant.evidence->nvlink_sent.reset();
    variant.evidence->judged = false;
    variant.evidence->reason = "the library lacks nvmlDeviceGetFieldValues";
  }
  record.cases.push_back(case_of(128 << 20, Path::nvlink, Path::host_memory));
  EXPECT_EQ(judge(record), ExitCode::success);
  ASSERT_THAT(codes(record), ElementsAre("evidence-missing", "evidence-missing"));
  EXPECT_THAT(record.warnings[0].text, AllOf(HasSubstr("lacks nvmlDeviceGetFieldValues"),
                                             HasSubstr("64MiB/np2 with p2p and 1 more")));
  EXPECT_THAT(record.warnings[1].text, HasSubstr("counters were not read"));
  record = counted_record(1.0, 0.0);
  record.cases.back().variants[0].evidence.reset();
  record.machine.links = {{0, 1, false, false}};
  judge(record);
  EXPECT_THAT(codes(record), Not(::testing::Contains("evidence-missing"))) << "no NVLink to count";
}

TEST(Evidence, ThatWasCountedButCannotBeJudgedIsNotMissing) {
  Record record = counted_record(1.0, 0.0);
  record.cases.push_back(record.cases.back());
  for (std::size_t i = 2; i < 4; ++i) {
    WireEvidence& evidence = *record.cases[i].variants[0].evidence;
    evidence.expected.reset();
    evidence.judged = false;
    evidence.reason = "nothing is known of what NVLS moves";
    evidence.nvlink_sent = 1'500'000'000;
  }
  EXPECT_EQ(judge(record), ExitCode::success);
  ASSERT_THAT(codes(record), ElementsAre("evidence-not-judged")) << "once per reason";
  EXPECT_THAT(record.warnings[0].text,
              AllOf(HasSubstr("3 GB in 20 operations"), HasSubstr("of what NVLS moves"),
                    HasSubstr("and 1 more"), Not(HasSubstr("not known: "))));
}

TEST(Evidence, OfSkippedVariantsSaysNothing) {
  Record record = good_record();
  record.cases[1].variants[1] = {};
  record.cases[1].variants[1].variant = "host";
  record.cases[1].variants[1].skipped = "out of memory";
  record.cases[1].variants[1].path = Path::nvlink;
  EXPECT_EQ(judge(record), ExitCode::success);
}

}  // namespace
}  // namespace linkgain::test

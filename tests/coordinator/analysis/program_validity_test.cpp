#include "linkgain/analysis/program_validity.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/analysis/program_path.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/telemetry/program_traffic.hpp"
#include "support/situations.hpp"
#include "verdict_records.hpp"

namespace linkgain::test {
namespace {

ArmEvidence arm_of(const std::string& name, std::vector<std::optional<std::int64_t>> bytes) {
  ArmEvidence arm{.variant = name, .forbidding = name == "host" ? "NCCL_P2P_DISABLE=1" : ""};
  for (const auto& each : bytes) arm.runs.push_back(evidence_of(each));
  return arm;
}

std::vector<ArmEvidence> good_arms() {
  return {arm_of("p2p", {kGigabyte, kGigabyte}), arm_of("host", {0, 0})};
}

std::vector<std::string> codes_of(const std::vector<ArmEvidence>& arms,
                                  const std::vector<GpuNeighbour>& idle = {}) {
  std::vector<std::string> codes;
  for (const Warning& warning : judge_exec(arms, idle)) codes.push_back(warning.code);
  return codes;
}

/// Finds the status that a run of these arms ends with.
ExitCode status_of(const std::vector<ArmEvidence>& arms) {
  Record record;
  record.warnings = judge_exec(arms, {});
  return has_warning(record, ExitCode::wrong_path) ? ExitCode::wrong_path : ExitCode::success;
}

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ProgramValidity, ArmsOfWhichOneUsesNvlinkHaveNoWarning) {
  EXPECT_THAT(codes_of(good_arms()), IsEmpty());
  EXPECT_EQ(status_of(good_arms()), ExitCode::success);
  EXPECT_THAT(codes_of({}), IsEmpty());
}

TEST(ProgramValidity, FlagsAndBarriersAreNoUseOfNvlink) {
  EXPECT_THAT(codes_of({arm_of("p2p", {kGigabyte}), arm_of("host", {kNvlinkFloor / 2})}),
              IsEmpty());
  EXPECT_THAT(codes_of({arm_of("p2p", {kNvlinkFloor / 2 + 1}), arm_of("host", {0})}), IsEmpty());
  EXPECT_THAT(codes_of({arm_of("p2p", {kNvlinkFloor / 2}), arm_of("host", {0})}),
              ElementsAre("exec-no-nvlink"));
  // 0.1 % of two terabytes is more than the floor.
  EXPECT_THAT(codes_of({arm_of("p2p", {1000 * kGigabyte}), arm_of("host", {kGigabyte})}),
              IsEmpty());
}

TEST(ProgramValidity, AnArmWithoutP2pThatUsesSomeNvlinkIsAWrongPath) {
  const std::vector<ArmEvidence> arms{arm_of("p2p", {kGigabyte}), arm_of("host", {kGigabyte / 10})};
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-path"));
  EXPECT_EQ(status_of(arms), ExitCode::wrong_path);
}

/// Has one run of p2p and host at each value of an axis, by their bytes over NVLink.
Record axis_record(const std::vector<std::pair<std::int64_t, std::int64_t>>& bytes) {
  Record record;
  record.settings.variants = {{"p2p", {}}, {"host", {{"NCCL_P2P_DISABLE", "1"}}}};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const auto& [variant, moved] :
         {std::pair("p2p", bytes[i].first), std::pair("host", bytes[i].second)}) {
      ProgramRun& run = record.runs.emplace_back();
      run.variant = variant;
      run.at = "LOAD=" + std::to_string(i + 1);
      run.evidence = evidence_of(moved);
    }
  }
  return record;
}

TEST(ProgramValidity, OnAnAxisPathsAreThoseAtEachOfItsValues) {
  const std::int64_t much = 1000 * kGigabyte;
  const Record leak = axis_record({{kGigabyte, kGigabyte / 2}, {much, 0}});
  std::vector<std::string> texts;
  for (const char* at : {"LOAD=1", "LOAD=2"}) {
    std::vector<Warning> found;
    judge_program_paths(arms_of(leak, at), found);
    for (const Warning& each : found) texts.push_back(each.code + ": " + each.text);
  }
  ASSERT_THAT(texts, testing::SizeIs(1));
  EXPECT_THAT(texts[0], testing::StartsWith("exec-path: host at LOAD=1: "));
  EXPECT_THAT(texts[0], testing::HasSubstr("of 2 GB with P2P"));
  EXPECT_THAT(codes_of(arms_of(leak)), IsEmpty()) << "pooled, it would be too little to matter";
}

TEST(ProgramValidity, OneRunWithoutP2pThatUsesNvlinkIsAWrongPath) {
  std::vector<ArmEvidence> arms{arm_of("p2p", {kGigabyte, kGigabyte, kGigabyte}),
                                arm_of("host", {0, kGigabyte, 0})};
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-path"));
  EXPECT_EQ(status_of(arms), ExitCode::wrong_path);
  EXPECT_EQ(nvlink_bytes_in_a_run(arms[1].runs), 0.0);
  EXPECT_EQ(std::ranges::max(nvlink_bytes_of(arms[1].runs, SharedGpus::count)), 2.0 * kGigabyte);
  arms[1] = arm_of("host", {kGigabyte, kGigabyte, 0});
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-path")) << "it changed one run";
  arms[1] = arm_of("host", {0, kGigabyte, 0});
  for (int gpu : {0, 1}) arms[1].runs[1].neighbours.seen.push_back({.gpu = gpu});
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-neighbours", "exec-neighbours"));
  EXPECT_EQ(status_of(arms), ExitCode::success);
}

TEST(ProgramValidity, TheSameBytesInBothArmsAreNoChange) {
  const std::vector<ArmEvidence> arms{arm_of("p2p", {kGigabyte}), arm_of("host", {kGigabyte})};
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-path", "exec-no-change"));
}

TEST(ProgramValidity, ADifferenceWithinTheDeviationOfRunsIsNoChange) {
  const std::vector<std::optional<std::int64_t>> scattered{kGigabyte, 12 * kGigabyte / 10,
                                                           8 * kGigabyte / 10};
  EXPECT_THAT(codes_of({arm_of("p2p", scattered), arm_of("host", {85 * kGigabyte / 100})}),
              ElementsAre("exec-path", "exec-no-change"));
  EXPECT_THAT(codes_of({arm_of("p2p", scattered), arm_of("host", {0})}), IsEmpty());
  // A run that fell out entirely does not make the arms alike.
  EXPECT_THAT(
      codes_of({arm_of("p2p", {0, kGigabyte, kGigabyte}), arm_of("host", {3 * kGigabyte / 10})}),
      ElementsAre("exec-no-nvlink", "exec-path"));
}

TEST(ProgramValidity, AProgramWithoutNvlinkIsNamed) {
  EXPECT_THAT(codes_of({arm_of("p2p", {0, 0}), arm_of("host", {0, 0})}),
              ElementsAre("exec-no-nvlink"));
}

/// Gives an arm whose GPUs have no NVLink counter, and whose NCCL logged connections of this kind.
ArmEvidence logged(const std::string& name, const std::string& kind, std::optional<bool> nvlink) {
  ArmEvidence arm = arm_of(name, {std::nullopt});
  arm.runs.front().connections = {{kind, 0, 1}};
  Machine machine;
  machine.links = {{0, 1, std::nullopt, nvlink}};
  arm.path = path_of_program(arm.runs, machine);
  return arm;
}

TEST(ProgramValidity, NcclsLogProvesAPathWithoutNvlink) {
  const ArmEvidence p2p = logged("p2p", "P2P/CUMEM", false);
  const ArmEvidence host = logged("host", "SHM/direct/direct", false);
  EXPECT_EQ(p2p.path, Path::pcie_p2p);
  EXPECT_EQ(host.path, Path::host_memory);
  EXPECT_THAT(codes_of({p2p, host}), IsEmpty());
}

TEST(ProgramValidity, P2pInNcclsLogDoesNotSayOverWhichLink) {
  for (const std::optional<bool> nvlink : {std::optional(true), std::optional<bool>()}) {
    const ArmEvidence p2p = logged("p2p", "P2P/IPC", nvlink);
    EXPECT_EQ(p2p.path, Path::p2p);
    EXPECT_THAT(codes_of({p2p, logged("host", "SHM/direct/direct", nvlink)}),
                ElementsAre("exec-unseen"));
  }
}

TEST(ProgramValidity, ConnectionsOfSeveralTransportsNameTheirPairs) {
  EXPECT_EQ(readable_connections({}), "");
  EXPECT_EQ(readable_connections({{"P2P/CUMEM", 0, 1}, {"P2P/CUMEM", 1, 0}}), "P2P/CUMEM");
  EXPECT_EQ(readable_connections({{"P2P/CUMEM", 0, 1},
                                  {"SHM/direct/direct", 1, 2},
                                  {"P2P/CUMEM", 1, 0},
                                  {"SHM/direct/direct", 3, 0},
                                  {"NVLS", std::nullopt, std::nullopt}}),
            "P2P/CUMEM (0-1), SHM/direct/direct (1->2, 3->0), NVLS");
}

TEST(ProgramValidity, NcclsLogTellsWhereAVariantDidNotDoWhatItSays) {
  const ArmEvidence host = logged("host", "SHM/direct/direct", false);
  const std::vector<ArmEvidence> alike{logged("p2p", "SHM/direct/direct", false), host};
  EXPECT_THAT(codes_of(alike), ElementsAre("exec-no-nvlink", "exec-no-change"));
  const std::vector<ArmEvidence> wrong{logged("p2p", "P2P/CUMEM", false),
                                       logged("host", "P2P/CUMEM", false)};
  EXPECT_THAT(codes_of(wrong), ElementsAre("exec-path"));
  EXPECT_EQ(status_of(wrong), ExitCode::wrong_path);
  for (const char* kind : {"SHM/direct/direct", "NET/Socket/0"}) {
    EXPECT_THAT(codes_of({logged("p2p", kind, true), logged("host", kind, true)}),
                ElementsAre("exec-no-nvlink", "exec-no-change"));
  }
  ArmEvidence some = host;
  some.runs.front().connections.push_back({"P2P/CUMEM", 0, 1});
  some.path = path_of_program(some.runs, {});
  EXPECT_EQ(some.path, Path::mixed);
  EXPECT_THAT(codes_of({wrong.front(), some}), ElementsAre("exec-path")) << "one connection";
  some.forbidding.clear();
  EXPECT_THAT(codes_of({some, host}), ElementsAre("exec-no-nvlink"));
}

TEST(ProgramValidity, NvlinkMulticastIsP2p) {
  const ArmEvidence p2p = logged("p2p", "P2P/CUMEM", std::nullopt);
  ArmEvidence host = logged("host", "NVLS", std::nullopt);
  EXPECT_THAT(codes_of({p2p, host}), ElementsAre("exec-unseen", "exec-path"));
  host.runs[0].connections.push_back({"SHM/direct/direct", 0, 1});
  host.path = path_of_program(host.runs, {});
  EXPECT_THAT(codes_of({p2p, host}), ElementsAre("exec-unseen", "exec-path"));
  EXPECT_EQ(status_of({p2p, host}), ExitCode::wrong_path);
}

TEST(ProgramValidity, NcclThatTookSeveralPathsIsNamedBesideNvlinksBytes) {
  ArmEvidence some = arm_of("p2p", {kGigabyte});
  some.runs[0].connections = {{"P2P/CUMEM", 0, 1}, {"SHM/direct/direct", 1, 2}};
  some.path = path_of_program(some.runs, {});
  EXPECT_EQ(some.path, Path::mixed);
  EXPECT_THAT(codes_of({some, arm_of("host", {0})}), ElementsAre("exec-no-nvlink"));
}

TEST(ProgramValidity, CountersDecideWhetherALibraryOrVariableReached) {
  ArmEvidence off = arm_of("off", {0, 0});
  off.forbidding = "LD_PRELOAD=liblinkgain_no_p2p.so";
  EXPECT_THAT(codes_of({arm_of("p2p", {kGigabyte}), off}), IsEmpty()) << "the log did not come";
  EXPECT_THAT(codes_of({arm_of("p2p", {0}), off}), ElementsAre("exec-no-nvlink", "exec-no-change"));
  off.runs[0].refused = off.runs[1].refused = {"cuDeviceGetAttribute"};
  EXPECT_THAT(codes_of({arm_of("p2p", {0}), off}), ElementsAre("exec-no-nvlink", "exec-no-change"));
  off.runs[0].refused = off.runs[1].refused = {"cuCtxEnablePeerAccess"};
  EXPECT_THAT(codes_of({arm_of("p2p", {0}), off}), ElementsAre("exec-no-nvlink"));
}

TEST(ProgramValidity, ASwitchThatDoesNotReachWhatMovesTheDataIsNamed) {
  ArmEvidence p2p = logged("p2p", "P2P/CUMEM", false);
  ArmEvidence host = logged("host", "SHM/direct/direct", false);
  host.runs[0].engine_says = {"vLLM: all-reduce by CUSTOM, PYNCCL"};
  host.path = path_of_program(host.runs, {});
  EXPECT_THAT(codes_of({p2p, host}), ElementsAre("exec-unseen", "exec-no-change"));
  EXPECT_EQ(status_of({p2p, host}), ExitCode::success);
  host.runs[0].engine_says = {"vLLM: all-reduce by PYNCCL"};
  host.path = path_of_program(host.runs, {});
  EXPECT_THAT(codes_of({p2p, host}), IsEmpty());
  host.forbidding = "LD_PRELOAD=liblinkgain_no_p2p.so";
  EXPECT_THAT(codes_of({p2p, host}), ElementsAre("exec-no-change")) << "it refused nothing";
  host.runs[0].refused = {"cuDeviceCanAccessPeer"};
  EXPECT_THAT(codes_of({p2p, host}), IsEmpty());
}

TEST(ProgramValidity, ThatNvmlsStatusWasRefusedIsEnoughForNcclAlone) {
  ArmEvidence p2p = logged("p2p", "P2P/CUMEM", false);
  ArmEvidence off = logged("off", "SHM/direct/direct", false);
  off.forbidding = "LD_PRELOAD=liblinkgain_no_p2p.so";
  off.runs[0].refused = {"nvmlDeviceGetP2PStatus"};
  off.path = path_of_program(off.runs, {});
  EXPECT_THAT(codes_of({p2p, off}), IsEmpty()) << "NCCL asks no further";
  off.runs[0].connections.clear();
  off.path = path_of_program(off.runs, {});
  EXPECT_THAT(codes_of({p2p, off}), testing::Contains("exec-no-change"))
      << "something else moves data";
}

TEST(ProgramValidity, BytesThatObeyNoVariableAreNamedByTheirShare) {
  ArmEvidence host = arm_of("host", {kGigabyte});
  host.runs.front().connections = {{"SHM/direct/direct", 0, 1}};
  const auto text_beside = [&](std::int64_t bytes) {
    return judge_exec({arm_of("p2p", {bytes}), host}, {}).front().text + "\n";
  };
  std::string text = text_beside(3 * kGigabyte) + text_beside(kGigabyte);
  host.runs.front().engine_says = {"vLLM: all-reduce by CUSTOM, PYNCCL"};
  text += text_beside(kGigabyte);
  host.forbidding = "LD_PRELOAD=liblinkgain_no_p2p.so";
  text += text_beside(kGigabyte);
  host.runs.front().connections.push_back({"NVLS"});
  text += text_beside(kGigabyte);
  expect_golden(text, "bytes_beside_a_variable.txt");
}

TEST(ProgramValidity, VariantsThatChooseNoPathMayMoveTheSame) {
  EXPECT_THAT(codes_of({arm_of("p2p", {kGigabyte}), arm_of("ring", {kGigabyte})}), IsEmpty());
}

TEST(ProgramValidity, TheSameBytesInTheSameTimeAreWorthAWord) {
  std::vector<ArmEvidence> arms{arm_of("p2p", {kGigabyte}), arm_of("off", {kGigabyte})};
  arms[1].is_like_first = true;
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-same-bytes"));
  EXPECT_EQ(status_of(arms), ExitCode::success);
  EXPECT_EQ(row_of(judge_exec(arms, {}).at(0)).weight, WarningWeight::doubtful);
  arms[1].runs = {evidence_of(kGigabyte / 2)};
  EXPECT_THAT(codes_of(arms), IsEmpty()) << "other bytes";
  arms[0].runs = arms[1].runs = {evidence_of(0)};
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-no-nvlink", "exec-no-nvlink")) << "no NVLink";
}

/// Has a variant beside p2p, with this ratio of its time to p2p's.
Record record_with(Variant other, const Estimate& ratio) {
  Record record;
  record.settings.variants = {{"p2p", {}}, std::move(other)};
  CaseResult& result = record.cases.emplace_back();
  result.definition = program_case({.name = "loss"});
  for (const Variant& variant : record.settings.variants) {
    VariantResult& own = result.variants.emplace_back();
    own.variant = variant.name;
    own.time = Seconds{1.0};
  }
  result.ratios = {{record.settings.variants[1].name, ratio}};
  return record;
}

TEST(ProgramValidity, AnArmIsLikeTheFirstUnlessItsTimeGpusOrLibraryDiffer) {
  const auto is_like_first = [](const Variant& other, const Estimate& ratio) {
    return arms_of(record_with(other, ratio)).at(1).is_like_first;
  };
  const Variant off{"off", {{"VLLM_NOP", "1"}}};
  const Estimate alike{.value = 1.01, .interval = Interval{0.98, 1.04}, .replicates = 6};
  EXPECT_TRUE(is_like_first(off, alike));
  EXPECT_TRUE(is_like_first(off, {.value = 1.0, .replicates = 3})) << "all runs gave the same";
  EXPECT_TRUE(is_like_first(off, {.value = 1.0 + 3e-16, .replicates = 5})) << "rounded otherwise";
  EXPECT_FALSE(is_like_first(off, {.value = 1.0, .replicates = 1})) << "one run";
  EXPECT_FALSE(
      is_like_first(off, {.value = 1.05, .interval = Interval{1.01, 1.09}, .replicates = 6}));
  EXPECT_FALSE(is_like_first({"far", {{"CUDA_VISIBLE_DEVICES", "0,4"}}}, alike));
  EXPECT_FALSE(is_like_first({"new", {}, {}, "/opt/new/libnccl.so.2"}, alike));
  Record record = record_with(off, alike);
  record.cases.clear();
  EXPECT_FALSE(arms_of(record).at(1).is_like_first) << "nothing was compared";
}

TEST(ProgramValidity, AnArmIsJoinedAndRefusedAsTheGpusThatItUsesAre) {
  Record record;
  record.settings.variants = {{"p2p", {}}};
  record.machine.links = {{0, 1, true, true}, {0, 2, std::nullopt, false}, {1, 2, false, false}};
  ProgramRun& run = record.runs.emplace_back();
  run.variant = "p2p";
  const auto arm = [&](const std::vector<int>& gpus) {
    run.evidence.gpus.clear();
    for (const int gpu : gpus) run.evidence.gpus.push_back({.gpu = gpu});
    return arms_of(record).front();
  };
  const auto joined = [&](const std::vector<int>& gpus) { return arm(gpus).is_joined; };
  EXPECT_EQ(joined({0, 1}), true);
  EXPECT_EQ(joined({1, 2}), false);
  EXPECT_EQ(joined({0, 1, 2}), std::nullopt) << "some are";
  EXPECT_EQ(joined({1, 3}), std::nullopt) << "of a GPU that nobody knows";
  EXPECT_EQ(joined({0}), std::nullopt) << "one has no peer";
  EXPECT_TRUE(arm({1, 2}).is_refused);
  EXPECT_FALSE(arm({0, 1}).is_refused);
  EXPECT_FALSE(arm({0, 1, 2}).is_refused) << "some may";
}

TEST(ProgramValidity, EitherVariableThatForbidsP2pIsInForce) {
  Record record;
  record.settings.variants = {{"p2p", {}},
                              {"host", {{"NCCL_P2P_DISABLE", "1"}}},
                              {"loc", {{"NCCL_P2P_LEVEL", "LOC"}}},
                              {"zero", {{"NCCL_P2P_LEVEL", "0"}}},
                              {"sys", {{"NCCL_P2P_LEVEL", "SYS"}}}};
  std::vector<std::string> forbidding;
  for (const ArmEvidence& arm : arms_of(record)) forbidding.push_back(arm.forbidding);
  EXPECT_THAT(forbidding,
              ElementsAre("", "NCCL_P2P_DISABLE=1", "NCCL_P2P_LEVEL=LOC", "NCCL_P2P_LEVEL=0", ""));
}

TEST(ProgramValidity, TrafficThatIsNotKnownIsNotJudged) {
  EXPECT_THAT(codes_of({arm_of("p2p", {std::nullopt}), arm_of("host", {kGigabyte})}),
              ElementsAre("exec-unseen", "exec-path"));
  std::vector<ArmEvidence> blind = good_arms();
  blind[0].runs = {RunEvidence{.no_gpus = "no driver"}};
  EXPECT_THAT(judge_exec(blind, {}).front().text, testing::HasSubstr("no driver"));
}

/// Adds GPU 2, which no process of the command was on, to each run.
void add_gpu(ArmEvidence& arm, std::optional<std::int64_t> bytes) {
  for (RunEvidence& run : arm.runs) {
    GpuEvidence& gpu = run.gpus.emplace_back();
    gpu.gpu = 2;
    gpu.traffic.nvlink_sent = gpu.traffic.nvlink_received = bytes;
    if (!bytes) gpu.nvlink_reason = "Not Supported";
  }
}

/// Makes the driver list no process of the command on any GPU.
void forget_use(ArmEvidence& arm) {
  for (RunEvidence& run : arm.runs) {
    for (GpuEvidence& gpu : run.gpus) gpu.used = false;
  }
}

TEST(ProgramValidity, GpusThatTheCommandWasNotOnAreNotJudged) {
  std::vector<ArmEvidence> arms = good_arms();
  for (ArmEvidence& arm : arms) add_gpu(arm, 2 * kGigabyte);
  EXPECT_THAT(codes_of(arms), IsEmpty());
  EXPECT_EQ(status_of(arms), ExitCode::success);
  EXPECT_EQ(nvlink_bytes_in_a_run(arms[0].runs), 2.0 * kGigabyte);
  EXPECT_EQ(nvlink_bytes_in_a_run(arms[1].runs), 0.0);
  for (GpuEvidence& gpu : arms[1].runs[0].gpus) gpu.used = false;
  EXPECT_THAT(codes_of(arms), IsEmpty()) << "seen in the other run";
  arms[1].runs[0].gpus[2].used = true;
  EXPECT_EQ(status_of(arms), ExitCode::wrong_path) << "it was on that one, too";
}

TEST(ProgramValidity, AllGpusAreJudgedWhereNobodyKnowsWhichTheCommandWasOn) {
  std::vector<ArmEvidence> arms = good_arms();
  for (ArmEvidence& arm : arms) {
    add_gpu(arm, 2 * kGigabyte);
    forget_use(arm);
  }
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-path"));
  EXPECT_EQ(status_of(arms), ExitCode::wrong_path);
}

TEST(ProgramValidity, BytesOfAGpuThatOthersWereOnAreNoWrongPath) {
  std::vector<ArmEvidence> arms = good_arms();
  for (ArmEvidence& arm : arms) {
    add_gpu(arm, 2 * kGigabyte);
    forget_use(arm);
    for (RunEvidence& run : arm.runs) run.neighbours.seen = {{.gpu = 2}};
  }
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-neighbours", "exec-neighbours"));
  EXPECT_EQ(status_of(arms), ExitCode::success);
  arms[1].runs = {evidence_of(kGigabyte), evidence_of(kGigabyte)};
  arms[1].runs[0].neighbours.seen = {{.gpu = 0}};
  EXPECT_EQ(status_of(arms), ExitCode::wrong_path) << "GPU 1 was its own";
}

TEST(ProgramValidity, NodesThatTheNetworkJoinsAreNoWarningWhereNvlinkWasUsed) {
  std::vector<ArmEvidence> arms = good_arms();
  for (RunEvidence& run : arms[0].runs) {
    run.connections = {{"P2P/CUMEM", 0, 1}, {"NET/IB/0", 0, 0}};
  }
  arms[0].path = Path::mixed;
  EXPECT_THAT(codes_of(arms), IsEmpty());
  arms[0].runs[0].connections.push_back({"SHM/direct/direct", 0, 1});
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-no-nvlink"));
}

TEST(ProgramValidity, AGpuWithoutCounterIsNamedThoughTheLogSaysHostMemory) {
  ArmEvidence host = arm_of("host", {0});
  host.runs[0].connections = {{"SHM/direct/direct", 0, 1}};
  host.runs[0].gpus[0].traffic.nvlink_sent.reset();
  host.path = Path::host_memory;
  std::vector<Warning> warnings;
  judge_unseen({host}, warnings);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0].code, "exec-unseen");
}

TEST(ProgramValidity, AGpuWithoutCounterIsLeftOut) {
  std::vector<ArmEvidence> arms = good_arms();
  for (ArmEvidence& arm : arms) add_gpu(arm, std::nullopt);
  EXPECT_THAT(codes_of(arms), IsEmpty()) << "nothing of it was used";
  EXPECT_EQ(nvlink_bytes_in_a_run(arms[0].runs), 2.0 * kGigabyte);
  for (RunEvidence& run : arms[0].runs) run.gpus[2].used = true;
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-unseen"));
  EXPECT_EQ(nvlink_bytes_in_a_run(arms[0].runs), 2.0 * kGigabyte);
  arms[1].runs = {evidence_of(kGigabyte)};
  add_gpu(arms[1], std::nullopt);
  EXPECT_EQ(status_of(arms), ExitCode::wrong_path) << "the others are judged";
}

TEST(ProgramValidity, ThatOthersAreNotKnownIsToldOnceForEachReason) {
  std::vector<ArmEvidence> arms = good_arms();
  for (ArmEvidence& arm : arms) {
    for (RunEvidence& run : arm.runs) run.neighbours.not_looked = "ids of another namespace";
  }
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-others-unknown"));
  arms[1].runs[1].neighbours.not_looked = "Not Supported";
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-others-unknown", "exec-others-unknown"));
  RunEvidence blind{.no_gpus = "no driver"};
  blind.neighbours.not_looked = blind.no_gpus;
  for (ArmEvidence& arm : arms) arm.runs = {blind};
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-unseen")) << "which says it";
}

TEST(ProgramValidity, OthersBeforeAndDuringRunsAreNamed) {
  const GpuNeighbour neighbour{.gpu = 1, .processes = {{.pid = 4711, .name = "python3"}}};
  EXPECT_THAT(codes_of(good_arms(), {neighbour}), ElementsAre("exec-neighbours"));
  std::vector<ArmEvidence> arms = good_arms();
  arms[1].runs[1].neighbours.seen = {neighbour};
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-neighbours"));
}

TEST(ProgramValidity, ThrottlingIsToldAndThePowerLimitOnlyWhereArmsDiffer) {
  std::vector<ArmEvidence> arms = good_arms();
  arms[0].runs[0].gpus[0].health = health_with(0x20, 3);
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-throttled"));
  arms[0].runs[0].gpus[0].health = health_with(0x4, 8);
  arms[1].runs[0].gpus[0].health = health_with(0x4, 8);
  EXPECT_THAT(codes_of(arms), IsEmpty());
  arms[1].runs[0].gpus[0].health = health_with(0x4, 2);
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-power-capped"));
}

TEST(ProgramValidity, OtherLibrariesAreToldUnlessTheyAreWanted) {
  std::vector<ArmEvidence> arms = good_arms();
  for (RunEvidence& run : arms[1].runs) run.nccl.front().path = "/opt/wheel/libnccl.so.2";
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-nccl-differs"));
  arms[1].nccl = "/opt/wheel/libnccl.so.2";
  EXPECT_THAT(codes_of(arms), IsEmpty());
}

TEST(ProgramValidity, ALibraryThatWasNotReplacedIsToldOfEachVariantThatNamesOne) {
  std::vector<ArmEvidence> arms = good_arms();
  arms[0].nccl = "/opt/old/libnccl.so.2";
  arms[1].nccl = "/opt/new/libnccl.so.2";
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-nccl-not-replaced", "exec-nccl-not-replaced"));
  for (RunEvidence& run : arms[0].runs) run.nccl.front().path = arms[0].nccl;
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-nccl-not-replaced"));
  for (RunEvidence& run : arms[1].runs) run.nccl.front().path = arms[1].nccl;
  EXPECT_THAT(codes_of(arms), IsEmpty());
  arms[1].runs[1].nccl.push_back({.path = "/usr/lib/libnccl.so.2"});
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-nccl-not-replaced")) << "one process had another";
  for (RunEvidence& run : arms[1].runs) run.nccl.clear();
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-no-nccl"));
}

TEST(ProgramValidity, NoNcclIsToldWhereSomebodyLooked) {
  std::vector<ArmEvidence> arms = good_arms();
  for (ArmEvidence& arm : arms) {
    for (RunEvidence& run : arm.runs) run.nccl.clear();
  }
  EXPECT_THAT(codes_of(arms), ElementsAre("exec-no-nccl"));
  for (ArmEvidence& arm : arms) {
    for (RunEvidence& run : arm.runs) run.processes_looked = 0;
  }
  EXPECT_THAT(codes_of(arms), IsEmpty());
}

std::string said_of(const std::vector<ArmEvidence>& arms,
                    const std::vector<GpuNeighbour>& idle = {}) {
  std::string text;
  for (const Warning& warning : judge_exec(arms, idle)) {
    text += warning.code + ": " + warning.text + "\n-> " + warning.advice + "\n";
  }
  return text;
}

void add_unseen(Situations& situations) {
  ArmEvidence own_log = arm_of("p2p", {std::nullopt});
  own_log.runs[0].connections_reason = "NCCL_DEBUG is yours";
  situations.add("no counters, and the user's own log", said_of({own_log}));
  own_log.runs[0].gpus = evidence_of(0).gpus;
  own_log.is_joined = false;
  situations.add("no NVLink, and the user's own log", said_of({own_log}));
  ArmEvidence engine = arm_of("host", {std::nullopt});
  engine.runs[0].engine_says = {"vLLM: all-reduce by CUSTOM, PYNCCL"};
  engine.path = path_of_program(engine.runs, {});
  situations.add("no counters, an engine's own kernels", said_of({engine}));
  engine.forbidding = "LD_PRELOAD=liblinkgain_no_p2p.so";
  situations.add("no counters, a library that refused nothing", said_of({engine}));
}

TEST(ProgramValidity, AreSaidInSentences) {
  Situations situations;
  situations.add("P2P off, all over NVLink",
                 said_of({arm_of("p2p", {kGigabyte}), arm_of("host", {kGigabyte})}));
  situations.add("P2P off, NVLink in some runs",
                 said_of({arm_of("p2p", {kGigabyte}), arm_of("host", {0, kGigabyte, 0})}));
  ArmEvidence loc = arm_of("loc", {kGigabyte});
  loc.forbidding = "NCCL_P2P_LEVEL=LOC";
  situations.add("P2P off by its level, all over NVLink",
                 said_of({arm_of("p2p", {kGigabyte}), loc}));
  ArmEvidence off = arm_of("off", {kGigabyte});
  off.is_like_first = true;
  situations.add("P2P in both, the same bytes and times",
                 said_of({arm_of("p2p", {kGigabyte}), off}));
  situations.add("nothing over NVLink", said_of({arm_of("p2p", {0}), arm_of("host", {0})}));
  for (const bool is_joined : {true, false}) {
    ArmEvidence known = arm_of("p2p", {0});
    known.is_joined = is_joined;
    situations.add(is_joined ? "nothing over the NVLink that is there" : "nothing, without NVLink",
                   said_of({known, arm_of("host", {0})}));
  }
  ArmEvidence refused = arm_of("p2p", {0});
  refused.is_refused = true;
  situations.add("nothing, where the driver refuses P2P", said_of({refused}));
  ArmEvidence alone = arm_of("p2p", {0});
  alone.runs[0].gpus.pop_back();
  situations.add("one GPU", said_of({alone, arm_of("host", {0})}));
  situations.add("no counters", said_of({arm_of("p2p", {std::nullopt})}));
  add_unseen(situations);
  std::vector<ArmEvidence> arms{arm_of("p2p", {kGigabyte}), arm_of("host", {kGigabyte / 2})};
  for (ArmEvidence& arm : arms) {
    add_gpu(arm, std::nullopt);
    forget_use(arm);
    arm.runs[0].neighbours.not_looked = "ids of another namespace";
  }
  situations.add("P2P off, some over NVLink of GPUs that anybody may have used", said_of(arms));
  arms = {arm_of("p2p", {kGigabyte}), arm_of("host", {kGigabyte / 2})};
  for (int gpu : {0, 1}) arms[1].runs[0].neighbours.seen.push_back({.gpu = gpu, .after_s = 1.0});
  situations.add("P2P off, some over NVLink of GPUs that others used, too", said_of(arms));
  arms = good_arms();
  arms[0].runs[0].gpus[0].health = health_with(0x24, 3);
  arms[1].runs[0].neighbours.seen = {
      {.gpu = 1, .after_s = 12.0, .processes = {{.pid = 4711, .name = "python3"}}}};
  for (RunEvidence& run : arms[1].runs) run.nccl.front().path = "/opt/wheel/libnccl.so.2";
  situations.add("throttled, a neighbour, other libraries",
                 said_of(arms, {{.gpu = 0, .busy_percent = 80.0, .nvlink_gb_per_s = 1.5}}));
  arms = good_arms();
  arms[0].nccl = arms[0].runs[0].nccl.front().path;
  arms[1].nccl = "/opt/wheel/libnccl.so.2";
  situations.add("a library that was not replaced", said_of(arms));
  for (RunEvidence& run : arms[1].runs) run.nccl.clear();
  situations.add("a library that was not seen", said_of(arms));
  for (ArmEvidence& arm : arms) {
    for (RunEvidence& run : arm.runs) run.nccl.clear();
  }
  situations.add("no NCCL", said_of(arms));
  situations.expect_golden("program_validity.txt");
}

}  // namespace
}  // namespace linkgain::test

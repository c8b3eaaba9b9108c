#include "linkgain/analysis/program_path.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "linkgain/telemetry/program_traffic.hpp"
#include "verdict_records.hpp"

namespace linkgain::test {
namespace {

using enum NvlinkUse;

/// What NCCL's log names.
const std::map<std::string, std::vector<NcclConnection>> kLogs{
    {"nothing", {}},
    {"p2p", {{"P2P/CUMEM", 0, 1}}},
    {"nvls", {{"NVLS"}}},
    {"shm", {{"SHM/direct/direct", 0, 1}}},
    {"net", {{"NET/IB/mlx5_0:1", 0, 1}}},
    {"p2p+shm", {{"P2P/IPC", 0, 1}, {"SHM/direct/direct", 1, 2}}},
    {"p2p+net", {{"P2P/direct pointer", 0, 1}, {"NET/Socket/eth0", 1, 2}}},
    {"nvls+shm", {{"NVLS"}, {"SHM/direct/direct", 0, 1}}},
    {"shm+net", {{"SHM/direct/direct", 0, 1}, {"NET/Socket/eth0", 1, 2}}},
    {"foreign", {{"XYZ/0", 0, 1}}},
    {"foreign+shm", {{"XYZ/0", 0, 1}, {"SHM/direct/direct", 1, 2}}}};

using Engines = std::vector<EngineChoice>;
const Engines kAnyEngine{EngineChoice::none,        EngineChoice::unsaid,
                         EngineChoice::nccl,        EngineChoice::no_nccl,
                         EngineChoice::host_memory, EngineChoice::own_kernels,
                         EngineChoice::copies};
const Engines kNcclAlone{EngineChoice::none, EngineChoice::nccl};
const Engines kOwnKernels{EngineChoice::own_kernels};
const Engines kOthers{EngineChoice::unsaid, EngineChoice::no_nccl, EngineChoice::copies};
const Engines kStaged{EngineChoice::host_memory};
const Engines kNotStaged{EngineChoice::none,    EngineChoice::unsaid,      EngineChoice::nccl,
                         EngineChoice::no_nccl, EngineChoice::own_kernels, EngineChoice::copies};
const Engines kNoOwnKernels{EngineChoice::none,    EngineChoice::unsaid,      EngineChoice::nccl,
                            EngineChoice::no_nccl, EngineChoice::host_memory, EngineChoice::copies};
const Engines kNoneOfItsOwn{EngineChoice::none, EngineChoice::unsaid, EngineChoice::nccl,
                            EngineChoice::no_nccl, EngineChoice::copies};

using Truths = std::vector<std::optional<bool>>;
const Truths kAny{std::nullopt, false, true};
const Truths kYes{true};
const Truths kNo{false};
const Truths kNotNo{std::nullopt, true};

/// What is known, by sets of which any member will do, and the path.
struct Row {
  std::vector<NvlinkUse> nvlink;
  std::vector<std::string> logs;
  Path path;
  Engines engines = kAnyEngine;
  Truths is_refused{false, true};
  Truths is_joined = kAny;
};

/// docs/exec.md says the same; NVLink stands still only where it joins all GPUs.
const std::vector<Row> kTable{
    // NVLink was used.
    {{part, all}, {"nothing", "p2p", "nvls", "foreign", "foreign+shm"}, Path::nvlink},
    {{part, all}, {"p2p+shm", "p2p+net", "nvls+shm"}, Path::mixed},
    {{part, all}, {"shm", "net", "shm+net"}, Path::mixed, kNoOwnKernels},
    {{part}, {"shm", "net", "shm+net"}, Path::mixed, kOwnKernels},
    {{all}, {"shm", "net", "shm+net"}, Path::engine, kOwnKernels},
    // It stood still: nothing went by P2P.
    {{none}, {"nothing", "p2p", "nvls"}, Path::unknown, kNotStaged, {false, true}, kYes},
    {{none}, {"nothing", "p2p", "nvls"}, Path::host_memory, kStaged, {false, true}, kYes},
    {{none, little}, {"foreign", "foreign+shm"}, Path::unknown, kAnyEngine, {false, true}, kYes},
    {{none}, {"p2p+shm", "nvls+shm"}, Path::host_memory, kAnyEngine, {false, true}, kYes},
    {{none}, {"p2p+net"}, Path::network, kAnyEngine, {false, true}, kYes},
    {{none, little}, {"shm", "shm+net"}, Path::host_memory, kAnyEngine, {false, true}, kYes},
    {{none, little}, {"net"}, Path::network, kAnyEngine, {false, true}, kYes},
    // So little went over it that it may be all.
    {{little}, {"nothing"}, Path::unknown, kNotStaged, {false, true}, kYes},
    {{little}, {"nothing"}, Path::host_memory, kStaged, {false, true}, kYes},
    {{little}, {"p2p", "nvls"}, Path::p2p, kAnyEngine, {false, true}, kYes},
    {{little}, {"p2p+shm", "p2p+net", "nvls+shm"}, Path::mixed, kAnyEngine, {false, true}, kYes},
    // Nobody saw it: NCCL's log and the engine's word are all there is.
    {{unseen}, {"p2p+shm", "p2p+net", "nvls+shm"}, Path::mixed},
    {{unseen}, {"p2p"}, Path::pcie_p2p, kAnyEngine, {false, true}, kNo},
    {{unseen}, {"p2p"}, Path::p2p, kAnyEngine, {false, true}, kNotNo},
    {{unseen}, {"nvls"}, Path::p2p},
    {{unseen}, {"foreign", "foreign+shm"}, Path::unknown},
    {{unseen}, {"nothing", "shm", "net", "shm+net"}, Path::engine, kOwnKernels},
    {{unseen}, {"nothing", "shm", "shm+net"}, Path::host_memory, kStaged},
    {{unseen}, {"nothing"}, Path::unknown, kNoneOfItsOwn},
    {{unseen}, {"shm", "shm+net"}, Path::host_memory, kNcclAlone},
    {{unseen}, {"net"}, Path::network, kNcclAlone},
    {{unseen}, {"shm", "shm+net"}, Path::host_memory, kOthers, kYes},
    {{unseen}, {"net"}, Path::network, kOthers, kYes},
    {{unseen}, {"shm", "net", "shm+net"}, Path::unknown, kOthers, kNo},
    {{unseen}, {"net"}, Path::network, kStaged, kYes},
    {{unseen}, {"net"}, Path::unknown, kStaged, kNo}};

template <typename Value>
bool has(const std::vector<Value>& all, const Value& value) {
  return std::ranges::count(all, value) > 0;
}

/// Checks one combination against the rows; exactly one must hold.
void check(const std::string& log, const PathClues& clues) {
  const auto holds = [&](const Row& row) {
    return has(row.nvlink, clues.nvlink) && has(row.logs, log) && has(row.engines, clues.engine) &&
           has(row.is_refused, std::optional(clues.is_peer_access_refused)) &&
           has(row.is_joined, clues.is_joined);
  };
  ASSERT_EQ(std::ranges::count_if(kTable, holds), 1) << log;
  EXPECT_EQ(path_by(clues), std::ranges::find_if(kTable, holds)->path)
      << log << ", NVLink " << static_cast<int>(clues.nvlink) << ", engine "
      << static_cast<int>(clues.engine) << (clues.is_peer_access_refused ? ", refused" : "");
}

TEST(ProgramPath, IsWhatTheTableSaysOfEachCombination) {
  int combinations = 0;
  for (const NvlinkUse nvlink : {unseen, little, none, part, all}) {
    for (const auto& [log, connections] : kLogs) {
      for (const EngineChoice engine : kAnyEngine) {
        for (const bool is_refused : {false, true}) {
          for (const std::optional<bool>& is_joined : kAny) {
            if ((nvlink == none || nvlink == little) && is_joined != true) continue;
            check(log, {nvlink, connections, engine, is_refused, is_joined});
            ++combinations;
          }
        }
      }
    }
  }
  EXPECT_EQ(combinations, (3 * 3 + 2) * 2 * 7 * static_cast<int>(kLogs.size()));
}

/// Gives the path of a run whose NCCL logged this, by these bytes over NVLink, of `most`.
Path path_beside(const std::vector<std::string>& says, std::optional<std::int64_t> bytes,
                 std::optional<bool> nvlink, const std::string& kind = "SHM/direct/direct",
                 double most = 0.0) {
  RunEvidence run = evidence_of(bytes);
  if (!kind.empty()) run.connections = {{kind, 0, 1}};
  run.engine_says = says;
  Machine machine;
  machine.links = {{0, 1, std::nullopt, nvlink}};
  return path_of_program({&run, 1}, machine, most);
}

TEST(ProgramPath, IsDecidedByWhatEnginesSayOfThemselves) {
  const std::string none_of_its_own = "vLLM: no all-reduce kernel of its own, because of 3 GPUs";
  for (const char* own :
       {"vLLM: all-reduce by CUSTOM, PYNCCL", "vLLM or SGLang: all-reduce by kernels of its own"}) {
    EXPECT_EQ(path_beside({"vLLM: NCCL 2.25.1", own}, {}, false), Path::engine) << own;
  }
  EXPECT_EQ(path_beside({"SGLang: NCCL 2.21.5"}, {}, {}), Path::unknown);
  EXPECT_EQ(path_beside({"XLA: copies of its own beside NCCL"}, {}, {}), Path::unknown);
  EXPECT_EQ(path_beside({"SGLang: NCCL 2.21.5", none_of_its_own}, {}, {}), Path::host_memory);
  EXPECT_EQ(path_beside({"vLLM: all-reduce by PYNCCL"}, {}, {}), Path::host_memory);
  const std::string own = "llama.cpp: built without NCCL, all-reduce through host memory";
  EXPECT_EQ(path_beside({own}, {}, false, ""), Path::host_memory);
  EXPECT_EQ(path_beside({own, "llama.cpp: all-reduce by copies"}, {}, false, ""), Path::unknown);
}

TEST(ProgramPath, IsDecidedByWhatTheCountersOfALinkThatIsThereSay) {
  const std::vector<std::string> custom{"vLLM: all-reduce by CUSTOM, PYNCCL"};
  const double most = 2.0 * kGigabyte;  // of two GPUs
  EXPECT_EQ(path_beside(custom, kGigabyte, true, "SHM/direct/direct", most), Path::engine);
  EXPECT_EQ(path_beside(custom, kGigabyte / 2, true, "SHM/direct/direct", most), Path::mixed);
  EXPECT_EQ(path_beside(custom, 0, true), Path::host_memory);
  // Without NVLink its counters know nothing of P2P over PCIe, and MB may be data.
  EXPECT_EQ(path_beside(custom, 0, false), Path::engine);
  EXPECT_EQ(path_beside(custom, 0, std::nullopt), Path::engine);
  EXPECT_EQ(path_beside(custom, 7'000'000, true), Path::engine);
  EXPECT_EQ(path_beside({}, 7'000'000, true, "P2P/CUMEM"), Path::p2p);
  EXPECT_EQ(path_beside({}, 0, true, "P2P/CUMEM"), Path::unknown) << "connected, and not used";
}

/// Gives the path of two GPUs that NVLink joins, each run with these bytes and this transport.
Path path_of_runs(
    const std::vector<std::pair<std::optional<std::int64_t>, std::string>>& bytes_and_kinds,
    double most = 2.0 * kGigabyte) {
  std::vector<RunEvidence> runs;
  for (const auto& [bytes, kind] : bytes_and_kinds) {
    runs.push_back(evidence_of(bytes));
    if (!kind.empty()) runs.back().connections = {{kind, 0, 1}};
  }
  Machine machine;
  machine.links = {{0, 1, std::nullopt, true}};
  return path_of_program(runs, machine, most);
}

TEST(ProgramPath, IsThatOfEachRun) {
  const std::string p2p = "P2P/CUMEM";
  const std::string shm = "SHM/direct/direct";
  EXPECT_EQ(path_of_runs({{kGigabyte, p2p}, {kGigabyte, p2p}}), Path::nvlink);
  EXPECT_EQ(path_of_runs({{kGigabyte, p2p}, {kGigabyte, ""}}), Path::nvlink);
  EXPECT_EQ(path_of_runs({{0, shm}, {0, ""}}), Path::host_memory);
  EXPECT_EQ(path_of_runs({{kGigabyte, ""}, {0, ""}, {0, ""}}), Path::mixed);
  EXPECT_EQ(path_of_runs({{kGigabyte, p2p}, {kGigabyte, p2p}, {0, p2p}}), Path::mixed);
  EXPECT_EQ(path_of_runs({{0, p2p}, {0, shm}}), Path::unknown);
  EXPECT_EQ(path_of_runs({{kGigabyte, p2p}, {std::nullopt, shm}}), Path::mixed);
  EXPECT_EQ(path_of_runs({}), Path::unknown);
}

/// Gives the path of four GPUs with bridges 0-1 and 2-3 between whose pairs NCCL's log names P2P.
Path path_of_bridges(const std::vector<std::pair<int, int>>& pairs,
                     std::optional<std::int64_t> bytes) {
  RunEvidence run = evidence_of(bytes);
  const GpuEvidence any = run.gpus.front();
  run.gpus.assign(4, any);
  for (int gpu = 0; gpu < 4; ++gpu) run.gpus[static_cast<std::size_t>(gpu)].gpu = gpu;
  for (const auto& [from, to] : pairs) run.connections.push_back({"P2P/CUMEM", from, to});
  Machine machine;
  for (int from = 0; from < 4; ++from) {
    for (int to = from + 1; to < 4; ++to) {
      machine.links.push_back({from, to, std::nullopt, from / 2 == to / 2});
    }
  }
  return path_of_program({&run, 1}, machine, 4.0 * kGigabyte);
}

TEST(ProgramPath, IsThatOfThePairsThatNcclJoins) {
  EXPECT_EQ(path_of_bridges({{0, 1}, {1, 2}, {2, 3}, {3, 0}}, kGigabyte), Path::mixed);
  EXPECT_EQ(path_of_bridges({{0, 1}, {2, 3}}, kGigabyte), Path::nvlink);
  EXPECT_EQ(path_of_bridges({{1, 2}}, 0), Path::pcie_p2p);
  EXPECT_EQ(path_of_bridges({{0, 1}}, std::nullopt), Path::p2p);
  EXPECT_EQ(path_of_bridges({{0, 1}, {1, 2}}, std::nullopt), Path::p2p) << "over both";
  EXPECT_EQ(path_of_bridges({{4, 5}}, kGigabyte), Path::nvlink) << "ranks of elsewhere";
}

TEST(ProgramPath, IsNotToldByNextToNothingWhereNoVariantMovedMore) {
  const std::int64_t little = 250'000;
  EXPECT_EQ(path_of_runs({{little, "P2P/CUMEM"}}, 2.0 * little), Path::p2p);
  EXPECT_EQ(path_of_runs({{little, "P2P/CUMEM"}}), Path::unknown) << "connected, and not used";
}

TEST(ReadableTraffic, HasNoThousandOfAUnit) {
  EXPECT_EQ(readable_traffic(999.4e6), "999 MB");
  EXPECT_EQ(readable_traffic(999.6e6), "1 GB");
  EXPECT_EQ(readable_traffic(1e9), "1 GB");
}

TEST(ProgramPath, NeedsTheCountersOfEveryGpu) {
  RunEvidence run = evidence_of(0);
  ASSERT_GT(run.gpus.size(), 1U);
  run.gpus.front().traffic.nvlink_sent.reset();
  run.connections = {{"SHM/direct/direct", 0, 1}};
  run.engine_says = {"XLA: copies of its own beside NCCL"};
  Machine machine;
  machine.links = {{0, 1, std::nullopt, true}};
  EXPECT_EQ(path_of_program({&run, 1}, machine), Path::unknown);
}

TEST(ProgramPath, PeerAccessIsRefusedWhereEachRunSaysSoOfMoreThanMulticastAndNvmlsStatus) {
  RunEvidence refused;
  refused.refused = {"cuDeviceCanAccessPeer", "cuDeviceGetAttribute", "nvmlDeviceGetP2PStatus"};
  RunEvidence asked;
  asked.refused = {"cuDeviceGetAttribute", "nvmlDeviceGetP2PStatus"};
  const auto is_refused = [](const std::vector<RunEvidence>& runs) {
    return is_peer_access_refused(runs);
  };
  EXPECT_TRUE(is_refused({refused, refused}));
  EXPECT_FALSE(is_refused({refused, asked}));
  EXPECT_FALSE(is_refused({refused, {}}));
  EXPECT_FALSE(is_refused({}));
}

}  // namespace
}  // namespace linkgain::test

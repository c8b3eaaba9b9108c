#include "linkgain/telemetry/nccl_log.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <tuple>

#include "linkgain/telemetry/program_traffic.hpp"
#include "support/call_log_double.hpp"
#include "support/scratch_folder.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char* kChannel = "vm:7:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via ";

TransportLines parse_kind(const std::string& kind) {
  return parse_transport_lines(kChannel + kind + "\n");
}

TEST(TransportLog, ReadsRecordedLogs) {
  struct Row {
    const char* prefix;
    int p2p, shm;
    std::vector<std::string> kinds;
    Path path;  ///< where the driver joins the GPUs
  };
  for (const Row& row : std::vector<Row>{
           {"nccl-log-p2p", 33, 0, {"P2P/CUMEM"}, Path::nvlink},
           {"nccl-log-shm", 0, 8, {"SHM/direct/direct"}, Path::host_memory},
           {"nccl-log", 33, 8, {"P2P/CUMEM", "SHM/direct/direct"}, Path::mixed}}) {  // all of a job
    const TransportLines lines = read_transport_logs({.folder = TEST_DATA, .prefix = row.prefix});
    EXPECT_EQ(lines.p2p, row.p2p) << row.prefix;
    EXPECT_EQ(lines.shm, row.shm) << row.prefix;
    EXPECT_EQ(lines.net + lines.other, 0) << row.prefix;
    EXPECT_EQ(lines.kinds, row.kinds);
    EXPECT_EQ(path_of(lines, true), row.path) << row.prefix;
  }
}

TEST(TransportLog, NoFilesGiveNoLines) {
  EXPECT_THAT(read_transport_logs({.folder = TEST_DATA, .prefix = "no-such-prefix"}).kinds,
              IsEmpty());
  EXPECT_THAT(read_transport_logs({.folder = "/no/such/directory", .prefix = "nccl"}).kinds,
              IsEmpty());
}

TEST(TransportLog, CountsEachKindWithItsFamily) {
  struct Row {
    const char* kind;
    int p2p, shm, net, other;
  };
  for (const Row& row :
       {Row{"P2P/CUMEM", 1, 0, 0, 0}, Row{"P2P/CUMEM/read", 1, 0, 0, 0}, Row{"P2P/IPC", 1, 0, 0, 0},
        Row{"P2P/direct pointer", 1, 0, 0, 0}, Row{"P2P/direct pointer/read", 1, 0, 0, 0},
        Row{"P2P/indirect/2[2]", 1, 0, 0, 0}, Row{"P2P/MNNVL", 1, 0, 0, 0},
        Row{"SHM/direct/direct", 0, 1, 0, 0}, Row{"SHM/CUMEM", 0, 1, 0, 0},
        Row{"NET/Socket/0", 0, 0, 1, 0}, Row{"NET/AWS Libfabric/0/GDRDMA/Shared", 0, 0, 1, 0},
        Row{"NET/IB/0(1)/GDRDMA(PCI)", 0, 0, 1, 0}, Row{"COLLNET/SHARP/0/GDRDMA", 0, 0, 1, 0},
        Row{"CXL/direct", 0, 0, 0, 1}}) {
    const TransportLines lines = parse_kind(row.kind);
    EXPECT_EQ(lines.p2p, row.p2p) << row.kind;
    EXPECT_EQ(lines.shm, row.shm) << row.kind;
    EXPECT_EQ(lines.net, row.net) << row.kind;
    EXPECT_EQ(lines.other, row.other) << row.kind;
    EXPECT_THAT(lines.kinds, ElementsAre(row.kind));
  }
}

TEST(TransportLog, ReadsDirectionsAndCollNet) {
  const TransportLines lines = parse_transport_lines(
      "vm:7:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0/GDRDMA\n"
      "vm:8:8 [1] NCCL INFO Channel 01/1 : 0[0] -> 1[1] [receive] via NET/IB/1/GDRDMA\r\n"
      "vm:7:7 [0] NCCL INFO CollNet 00/0 : 0 [send] via COLLNET/SHARP/0\n"
      "vm:7:7 [0] NCCL INFO Channel 00 : 0[1a000] -> 1[3b000] via SHM/direct/direct\n");
  EXPECT_EQ(lines.net, 3);
  EXPECT_EQ(lines.shm, 1);
  EXPECT_THAT(lines.kinds, ElementsAre("NET/IB/0/GDRDMA", "NET/IB/1/GDRDMA", "COLLNET/SHARP/0",
                                       "SHM/direct/direct"));
}

TEST(TransportLog, NamesTheDevicesOfEachPairOnceAndTheVersion) {
  const TransportLines lines = parse_transport_lines(
      "vm:7:7 [0] NCCL INFO NCCL version 2.28.3+cuda13.0\n"
      "vm:7:7 [0] NCCL INFO Channel 00/0 : 0[2] -> 1[3] via P2P/CUMEM\n"
      "vm:7:7 [0] NCCL INFO Channel 01/0 : 0[2] -> 1[3] via P2P/CUMEM\n"
      "vm:7:7 [1] NCCL INFO Channel 00/0 : 1[3] -> 0[2] via SHM/direct/direct\n"
      "vm:7:7 [0] NCCL INFO Channel 00 : 5[7000] -> 6[3b000] via P2P/IPC\n"  // bus ids: ranks
      "vm:7:7 [0] NCCL INFO CollNet 00/0 : 0 [send] via COLLNET/SHARP/0\n");
  EXPECT_EQ(lines.version, "2.28.3+cuda13.0");
  EXPECT_THAT(
      lines.connections,
      ElementsAre(NcclConnection{"P2P/CUMEM", 2, 3}, NcclConnection{"SHM/direct/direct", 3, 2},
                  NcclConnection{"P2P/IPC", 5, 6},
                  NcclConnection{"COLLNET/SHARP/0", std::nullopt, std::nullopt}));
  EXPECT_EQ(lines_of(lines.connections).kinds, lines.kinds);
}

/// Gives the processor's time that a log of twice so many transports takes.
double time_to_read(std::size_t transports) {
  std::string log;
  for (std::size_t i = 0; i < 2 * transports; ++i) {
    log += fmt::format("vm:7:7 [0] NCCL INFO Channel 00/0 : {}[{}] -> {}[{}] via P2P/{}\n", i % 9,
                       i % 9, i % 9 + 1, i % 9 + 1, i % transports);
  }
  const std::clock_t begin = std::clock();
  const TransportLines lines = parse_transport_lines(log);
  const std::vector<RunEvidence> runs{{.connections = lines.connections}};
  const std::string text = readable_connections(connections_of(runs));
  const std::clock_t end = std::clock();
  EXPECT_THAT(lines.kinds, SizeIs(transports));
  EXPECT_THAT(text, testing::EndsWith(fmt::format(" and {} more", transports - 8)));
  return static_cast<double>(end - begin) / CLOCKS_PER_SEC;
}

/// Compares none with all others: a program may log what it likes. Eight times as many would take
/// 64 times as long by squares.
TEST(TransportLog, TakesNoLongerForEachOfManyTransports) {
  const double few = std::min(time_to_read(5'000), time_to_read(5'000));
  EXPECT_LT(time_to_read(40'000), 24.0 * few);
}

TEST(TransportLog, NamesNetworkAdapters) {
  const TransportLines lines = parse_transport_lines(
      "vm:7:7 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_bond_0:1/IB [RO]; OOB "
      "eth0:10.0.0.1<0>\n"
      "vm:7:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n"
      "vm:7:7 [0] NCCL INFO Channel 01/0 : 8[0] -> 0[0] [receive] via NET/IB/1(4)/GDRDMA(PCI)\n"
      "vm:7:7 [0] NCCL INFO Channel 02/0 : 0[0] -> 8[0] [send] via NET/IB/2/GDRDMA\n"  // merged
      "vm:8:8 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0> [1]fe80:fe80::1%fe80<0>\n"
      "vm:8:8 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0\n"
      "vm:8:8 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/AWS Libfabric/0\n");
  EXPECT_THAT(lines.kinds,
              ElementsAre("NET/IB/mlx5_0:1/GDRDMA", "NET/IB/mlx5_bond_0:1(4)/GDRDMA(PCI)",
                          "NET/IB/2/GDRDMA", "NET/Socket/eth0", "NET/AWS Libfabric/0"));
  EXPECT_EQ(lines.net, 5);
}

/// Reads the forms of NCCL 2.18, of 2.27 and of variables.
TEST(TransportLog, TellsAlgorithmsWhereTheLogHasThem) {
  EXPECT_THAT(parse_transport_lines("vm:7:7 [0] NCCL INFO Connected all rings\n"
                                    "vm:7:7 [0] NCCL INFO Connected all trees\n"
                                    "vm:8:8 [1] NCCL INFO Connected all rings\n")
                  .algorithms,
              ElementsAre("rings", "trees"));
  EXPECT_THAT(
      parse_transport_lines("vm:7:7 [0] NCCL INFO NCCL_PROTO set by environment to LL\n"
                            "vm:7:7 [0] NCCL INFO NCCL_ALGO set by environment to ^Tree,NVLS\r\n"
                            "vm:7:7 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1\n"
                            "vm:7:7 [0] NCCL INFO Enabled NCCL Func/Proto/Algo Matrix:\n"
                            "vm:7:7 [0] NCCL INFO Connected all rings, use ring PXN 0 GDR 1\n"
                            "vm:7:7 [0] NCCL INFO Connected binomial trees\n")
          .algorithms,
      ElementsAre("NCCL_PROTO=LL", "NCCL_ALGO=^Tree,NVLS", "rings", "binomial trees"));
  EXPECT_THAT(parse_kind("P2P/CUMEM").algorithms, IsEmpty());
}

TEST(TransportLog, ReadsWhatNcclDiagnosedOfP2p) {
  const std::string log =
      "vm:4101 NCCL DIAG [OK] net bw: skipped (single host or no network transport)\n"
      "vm:4101 NCCL DIAG [OK]   p2p: verified P2P access between every GPU pair\n"
      "vm:4101 NCCL DIAG NCCL diagnostics completed in 10.5 ms across 2 ranks\n";
  EXPECT_THAT(parse_diagnosis_lines(log), ElementsAre(testing::StartsWith("[OK] verified P2P")));
  EXPECT_THAT(parse_diagnosis_lines("p2p: NCCL DIAG [OK]\n NCCL DIAG [OK p2p: x"), IsEmpty());
}

TEST(TransportLog, SkipsUnrelatedLines) {
  const TransportLines lines = parse_transport_lines(
      "vm:7:7 [0] NCCL INFO Check P2P Type isAllDirectP2p 0 directMode 0\n"
      "vm:7:7 [0] NCCL INFO 24 coll channels, 0 nvls channels, 32 p2p channels per peer\n"
      "vm:7:7 [0] NCCL INFO NVLS multicast support is not available on dev 0\n"
      "vm:7:7 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.\n"
      "the page says via P2P/CUMEM\n"
      "vm:7:7 [0] NCCL WARN Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"
      "vm:7:7 [0] NCCL INFO Channel 00/02 : 0 1\n"
      "\n");
  EXPECT_EQ(lines.p2p + lines.shm + lines.net + lines.other, 0);
  EXPECT_THAT(lines.kinds, IsEmpty());
}

TEST(TransportLog, IgnoresALastLineCutAnywhere) {
  const std::string whole = std::string(kChannel) + "SHM/direct/direct\n";
  const std::string last = std::string(kChannel) + "P2P/CUMEM/read";
  for (std::size_t length = 0; length <= last.size(); ++length) {
    const TransportLines lines = parse_transport_lines(whole + last.substr(0, length));
    EXPECT_EQ(lines.p2p, 0) << length;
    EXPECT_THAT(lines.kinds, ElementsAre("SHM/direct/direct")) << length;
  }
}

TEST(TransportLog, SurvivesInterleavedLines) {
  const TransportLines lines = parse_transport_lines(
      // Two processes' lines run together: the last message of such a line is whole.
      "vm:7:7 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[vm:8:8 [1] NCCL INFO Channel 03/0 : 1[1] -> "
      "0[0] via P2P/IPC\n"
      // The tail of a message without its head, and garbage in a transport's place.
      "1] via P2P/CUMEM\n"
      "vm:7:7 [0] NCCL INFO Channel 04/0 : 0[0] -> 1[1] via P2P/CUMEMvm:8:8 [1] NC\n"
      "vm:7:7 [0] NCCL INFO Channel 05/0 : 0[0] -> 1[1] via \n"
      "vm:7:7 [0] NCCL INFO Channel 06/0 : 0[0] -> 1[1] via P2P/\n"
      "\xff\xfe\x01 via NET/Socket/0\n");
  EXPECT_EQ(lines.p2p, 1);
  EXPECT_EQ(lines.shm + lines.net + lines.other, 0);
  EXPECT_THAT(lines.kinds, ElementsAre("P2P/IPC"));
}

constexpr const char* kNvlsLine =
    "vm:7:7 [0] NCCL INFO NVLS comm 0x55d0c8 headRank 0 nHeads 4 nvlsRanks 4 buffSize 1048576 "
    "nvlsPerRankSize 33554432 nvlsTotalSize 134217728\n";

TEST(TransportLog, CountsNvlinkMulticast) {
  const TransportLines lines = parse_transport_lines(std::string(kNvlsLine) + kNvlsLine +
                                                     "vm:7:7 [0] NCCL INFO Connected NVLS tree\n");
  EXPECT_EQ(lines.other, 3);
  EXPECT_THAT(lines.kinds, ElementsAre("NVLS"));
  EXPECT_EQ(path_of(lines, std::nullopt), Path::nvlink);
}

TEST(TransportLog, MulticastBesideSharedMemoryIsMixed) {
  const TransportLines lines =
      parse_transport_lines(std::string(kNvlsLine) + kChannel + "SHM/direct/direct\n");
  EXPECT_EQ(path_of(lines, true), Path::mixed);
}

TEST(LogFiles, AreReadByNameAndNoOtherThings) {
  const ScratchFolder scratch;
  const std::filesystem::path directory = scratch / "logs";
  std::filesystem::create_directories(directory / "p2p.0-directory");
  for (const char* size : {"6", "2", "8", "1", "7", "3", "5", "4"}) {
    std::ofstream(directory / (std::string("p2p.") + size)) << size;
  }
  std::ofstream(directory / "host.1") << "9";
  EXPECT_THAT(read_log_files(directory, "p2p"),
              ElementsAre("1", "2", "3", "4", "5", "6", "7", "8"));
  std::filesystem::remove_all(directory);
  EXPECT_THAT(read_log_files(directory, "p2p"), IsEmpty());
}

TEST(PathOf, OneTransportIsItsOwn) {
  struct Row {
    const char* kind;
    std::optional<bool> nvlink;  ///< that the driver says joins the GPUs
    Path path;
  };
  for (const Row& row :
       {Row{"P2P/CUMEM", true, Path::nvlink}, Row{"P2P/CUMEM", false, Path::pcie_p2p},
        Row{"P2P/CUMEM", {}, Path::unknown}, Row{"P2P/indirect/2[2]", true, Path::nvlink},
        Row{"P2P/indirect/2[2]", false, Path::unknown}, Row{"P2P/MNNVL", {}, Path::nvlink},
        Row{"SHM/CUMEM", true, Path::host_memory}, Row{"NET/Socket/0", true, Path::network},
        Row{"COLLNET/SHARP/0", true, Path::network}, Row{"CXL/direct", true, Path::unknown}}) {
    EXPECT_EQ(path_of(parse_kind(row.kind), row.nvlink), row.path) << row.kind;
  }
  EXPECT_EQ(path_of(TransportLines{}, true), Path::unknown);
}

TEST(PathOf, MoreThanOneFamilyIsMixed) {
  const std::string shm = std::string(kChannel) + "SHM/direct/direct\n";
  const std::string p2p = std::string(kChannel) + "P2P/CUMEM\n";
  const std::string net = std::string(kChannel) + "NET/Socket/0\n";
  EXPECT_EQ(path_of(parse_transport_lines(p2p + shm), true), Path::mixed);
  EXPECT_EQ(path_of(parse_transport_lines(p2p + net), std::nullopt), Path::mixed);
  EXPECT_EQ(path_of(parse_transport_lines(shm + net), false), Path::mixed);
}

TEST(PathOf, AForeignTransportBesideAKnownOneIsUnknown) {
  const TransportLines lines =
      parse_transport_lines(std::string(kChannel) + "P2P/CUMEM\n" + kChannel + "CXL/direct\n");
  EXPECT_EQ(path_of(lines, true), Path::unknown);
}

TEST(PathOf, MulticastThatNoCallUsesIsNoPath) {
  TransportLines lines;
  lines.shm = 2;
  lines.other = 1;
  lines.kinds = {"SHM/direct/direct", "NVLS"};
  EXPECT_EQ(path_of(lines, true), Path::mixed) << "nothing tells which of the two is used";
  EXPECT_EQ(path_of(lines, true, Algorithm::ring), Path::host_memory);
  EXPECT_EQ(path_of(lines, true, Algorithm::nvls), Path::mixed);
  TransportLines multicast;
  multicast.other = 1;
  multicast.kinds = {"NVLS"};
  EXPECT_EQ(path_of(multicast, true, Algorithm::nvls), Path::nvlink);
  EXPECT_EQ(path_of(multicast, true, Algorithm::ring), Path::unknown);
}

constexpr const char* kBegin = "vm:7:7 [0] NCCL INFO ";

/// Makes one line of rank 0.
std::string line(const std::string& message) { return kBegin + message + "\n"; }

Case all_reduce(std::int64_t size) {
  Case c;
  c.size = Bytes{size};
  return c;
}

Case send_recv(std::int64_t size) {
  Case c = all_reduce(size);
  c.operation = OperationKind::send_recv;
  return c;
}

TunedCall call(OperationKind operation, std::int64_t size, const std::string& algorithm,
               const std::string& protocol, std::optional<int> blocks = {}) {
  return {.operation = operation, .size = Bytes{size}, .plan = {algorithm, protocol, blocks}};
}

std::string recorded_log() { return read_text(TEST_DATA "/nccl-tuning-p2p.txt"); }

TEST(TuningLog, ReadsEveryCallOfARecordedLog) {
  const std::vector<TunedCall> calls = parse_tuning_lines(recorded_log());
  ASSERT_THAT(calls, SizeIs(9 * 4));  // nine sizes, twice out of place and twice in place
  EXPECT_EQ(calls.front(), call(OperationKind::all_reduce, 8, "RING", "LL", 1));
  EXPECT_EQ(calls.back(), call(OperationKind::all_reduce, 134217728, "RING", "SIMPLE", 24));
}

TEST(TuningLog, FindsThePlanOfACaseInARecordedLog) {
  const std::vector<TunedCall> calls = parse_tuning_lines(recorded_log());
  EXPECT_EQ(plan_of(all_reduce(262144), calls), (TransferPlan{"RING", "LL", 22}));
  EXPECT_EQ(plan_of(all_reduce(2097152), calls), (TransferPlan{"RING", "SIMPLE", 24}));
  EXPECT_EQ(plan_of(all_reduce(1048576), calls), TransferPlan{});
}

TEST(TuningLog, ReadsALineBehindOtherOutput) {
  const std::vector<TunedCall> calls = parse_tuning_lines(
      "   245.32    0.00    N/Avm:1653:1653 [0] NCCL INFO AllReduce: 8 Bytes -> "
      "Algo RING proto LL channel{Lo..Hi}={0..0}\n");
  EXPECT_THAT(calls, ElementsAre(call(OperationKind::all_reduce, 8, "RING", "LL", 1)));
}

TEST(TuningLog, FindsNoCallInOtherMessages) {
  for (const char* message :
       {"Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
        "  Algorithm   |          Tree            |      Ring       |",
        "AlltoAll: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}",
        "AllGather [Copy Engine]: 8 Bytes -> cudaMemcpy",
        "AllReduce: Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}",
        "AllReduce: -8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}",
        "AllReduce: 99999999999999999999 Bytes -> Algo RING proto LL channel",
        "AllReduce: 8 Bytes -> Algo Unknown proto LL channel{Lo..Hi}={0..0}",
        "AllReduce: 8 Bytes -> Algo RING proto Unknown channel{Lo..Hi}={0..0}",
        "AllReduce: 8 Bytes -> Algo 1 proto 2 time 5.3",
        "8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}", "AllReduce: 8 Bytes -> Algo RING",
        "AllReduce: 8 Bytes -> Algo RING proto LL",
        "AllReduce: 8 Bytes -> Algo RING proto LLvm:7:7 [1] and more",
        "AllReduce [Symmetric]: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}",
        "AllReduce [Symmetric]: 8 Bytes -> Kernel Unknown nchannels 1 nthreads 512"}) {
    EXPECT_THAT(parse_tuning_lines(line(message)), IsEmpty()) << message;
  }
}

TEST(TuningLog, SkipsALineThatIsStillBeingWritten) {
  EXPECT_THAT(
      parse_tuning_lines("vm:7:7 [0] NCCL INFO AllReduce: 8 Bytes -> Algo RING proto LL ch"),
      IsEmpty());
  EXPECT_THAT(parse_tuning_lines("AllReduce: 8 Bytes -> Algo RING proto LL channel\n"), IsEmpty());
  EXPECT_THAT(parse_tuning_lines(""), IsEmpty());
}

TEST(TuningLog, WritesNamesInCapitalsAndKeepsUnknownOnes) {
  EXPECT_THAT(parse_tuning_lines(line("AllReduce: 8 Bytes -> Algo Ring proto Simple channel") +
                                 line("AllReduce: 8 Bytes -> Algo NEW_ONE proto LL256 channel")),
              ElementsAre(call(OperationKind::all_reduce, 8, "RING", "SIMPLE"),
                          call(OperationKind::all_reduce, 8, "NEW_ONE", "LL256")));
}

TEST(TuningLog, ReadsKernelsOfSymmetricMemory) {
  EXPECT_THAT(parse_tuning_lines(line("AllReduce [Symmetric]: 8 Bytes -> Kernel AllReduce_AGxLL_R "
                                      "nchannels 16 nthreads 512 nWorks 1")),
              ElementsAre(call(OperationKind::all_reduce, 8, "ALLREDUCE_AGXLL_R", "", 16)));
}

TEST(TuningLog, CountsNoBlocksWhereChannelsMakeNoSense) {
  for (const char* channels :
       {"channel", "channel{Lo..Hi}={0..23", "channel{Lo..Hi}={3..1}", "channel{Lo..Hi}={0..}",
        "channel{Lo..Hi}={..3}", "channel{Lo..Hi}={0..99999999999}"}) {
    const std::string message = std::string("AllReduce: 8 Bytes -> Algo RING proto LL ") + channels;
    EXPECT_THAT(parse_tuning_lines(line(message)),
                ElementsAre(call(OperationKind::all_reduce, 8, "RING", "LL")))
        << message;
  }
}

TEST(TuningLog, TheLastCallOfTheSizeCounts) {
  const std::vector<TunedCall> calls{call(OperationKind::all_reduce, 8, "RING", "LL"),
                                     call(OperationKind::all_reduce, 16, "TREE", "LL128"),
                                     call(OperationKind::all_reduce, 8, "NVLS", "SIMPLE"),
                                     call(OperationKind::send_recv, 16, "RING", "LL")};
  EXPECT_EQ(plan_of(all_reduce(8), calls), (TransferPlan{"NVLS", "SIMPLE"}));
  EXPECT_EQ(plan_of(all_reduce(16), calls), (TransferPlan{"TREE", "LL128"}));
}

Case of(OperationKind operation, std::int64_t size, int ranks) {
  Case c = all_reduce(size);
  c.operation = operation;
  c.ranks = ranks;
  return c;
}

TEST(TuningLog, ReadsEveryCollectivesName) {
  const std::string rest = ": 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}";
  EXPECT_THAT(parse_tuning_lines(line("AllReduce" + rest) + line("AllGather" + rest) +
                                 line("ReduceScatter" + rest) + line("Broadcast" + rest) +
                                 line("Reduce" + rest)),
              ElementsAre(call(OperationKind::all_reduce, 8, "RING", "LL", 1),
                          call(OperationKind::all_gather, 8, "RING", "LL", 1),
                          call(OperationKind::reduce_scatter, 8, "RING", "LL", 1),
                          call(OperationKind::broadcast, 8, "RING", "LL", 1),
                          call(OperationKind::reduce, 8, "RING", "LL", 1)));
}

TEST(TuningLog, TheSizeIsThatOfTheCount) {
  // One rank's part of all_gather and reduce_scatter, the whole of the others.
  for (const auto& [name, operation, size] :
       {std::tuple{"AllGather", OperationKind::all_gather, 4096},
        std::tuple{"ReduceScatter", OperationKind::reduce_scatter, 4096},
        std::tuple{"Broadcast", OperationKind::broadcast, 1024},
        std::tuple{"Reduce", OperationKind::reduce, 1024}}) {
    const auto calls = parse_tuning_lines(
        line(std::string(name) + ": 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..0}"));
    EXPECT_EQ(plan_of(of(operation, size, 4), calls), (TransferPlan{"RING", "LL", 1})) << name;
    EXPECT_EQ(plan_of(of(operation, 5 * 4096, 4), calls), TransferPlan{}) << name;
  }
}

TEST(TuningLog, WithoutACallTheDefaultPlanHolds) {
  EXPECT_EQ(plan_of(all_reduce(kJudgedSize.value), {}), TransferPlan{});
  EXPECT_EQ(plan_of(send_recv(kJudgedSize.value), {}), (TransferPlan{"", "SIMPLE"}));
  EXPECT_EQ(plan_of(send_recv(8), {}), TransferPlan{});
}

class CallLogTest : public ::testing::TestWithParam<LogSwitch> {
 protected:
  CallLogTest() {
    ::setenv("NCCL_DEBUG_FILE", base().c_str(), 1);
    ::setenv("NCCL_DEBUG_SUBSYS", "INIT,ENV", 1);
    CallLogDouble::tell("starts");
  }
  ~CallLogTest() override {
    CallLogDouble::close();
    ::unsetenv("NCCL_DEBUG_FILE");
    ::unsetenv("NCCL_DEBUG_SUBSYS");
  }
  CallLogTest(const CallLogTest&) = delete;
  CallLogTest& operator=(const CallLogTest&) = delete;

  std::string base() const { return folder_ / "nccl-p2p-1.log"; }

  const ScratchFolder folder_;
};

TEST_P(CallLogTest, TellsTheCallsOfTheWorkAlone) {
  const CallLog log(GetParam());
  CallLogDouble::call("before");
  const auto first = log.watch([] { CallLogDouble::call("first"); });
  CallLogDouble::call("between");
  const auto second = log.watch([] { CallLogDouble::call("second"); });
  CallLogDouble::call("after");
  EXPECT_EQ(first.value().text, "first\n");
  EXPECT_EQ(second.value().text, "second\n");
  EXPECT_GT(second.value().cost.value, 0.0);
}

TEST_P(CallLogTest, LosesNothingThatWasLogged) {
  const std::string between = "a warning between";
  const std::string last = "a warning at the end";
  const CallLog log(GetParam());
  log.watch([] { CallLogDouble::call("first"); });
  CallLogDouble::tell(between);
  log.watch([] {});
  log.watch([] { CallLogDouble::call("third"); });
  CallLogDouble::tell(last);
  EXPECT_EQ(read_text(base()), "starts\n") << "left as it was";
  EXPECT_EQ(read_text(base() + ".kept"), "first\n" + between + "\nthird\n");
  EXPECT_EQ(read_text(base() + ".now"), last + "\n");
}

TEST_P(CallLogTest, LeavesFilesOfOthersAsTheyAre) {
  for (const std::string ending : {".now", ".kept"}) {
    std::ofstream(base() + ending) << "precious";
    const CallLog log(GetParam());
    EXPECT_FALSE(log.watch([] { CallLogDouble::call("a call"); }));
    EXPECT_EQ(read_text(base() + ending), "precious");
    std::filesystem::remove(base() + ending);
  }
}

TEST_P(CallLogTest, WorkThatIsSilentHasNoText) {
  const CallLog log(GetParam());
  log.watch([] { CallLogDouble::call("first"); });
  EXPECT_EQ(log.watch([] {}).value().text, "");
  EXPECT_EQ(log.watch([] {}).value().text, "");
}

INSTANTIATE_TEST_SUITE_P(Switches, CallLogTest,
                         ::testing::Values(&CallLogDouble::switch_lazily,
                                           &CallLogDouble::switch_at_once),
                         [](const auto& one) {
                           return one.param == &CallLogDouble::switch_lazily ? "lazy" : "at_once";
                         });

TEST(CallLog, WithoutASwitchTheWorkIsDoneUnwatched) {
  ::setenv("NCCL_DEBUG_FILE", "/nonexistent/nccl.log", 1);
  bool done = false;
  EXPECT_FALSE(CallLog(nullptr).watch([&] { done = true; }));
  EXPECT_TRUE(done);
  ::unsetenv("NCCL_DEBUG_FILE");
}

TEST(CallLog, WithoutAFileTheWorkIsDoneUnwatched) {
  bool done = false;
  EXPECT_FALSE(CallLog(&CallLogDouble::switch_lazily).watch([&] { done = true; }));
  EXPECT_TRUE(done);
}

TEST(CallLog, FillsPatternsInAsNcclDoes) {
  EXPECT_EQ(expand_log_pattern("/tmp/a.%h.%p.log", "node1.cluster.org", 42), "/tmp/a.node1.42.log");
  EXPECT_EQ(expand_log_pattern("100%%.%x.%", "node1", 42), "100%.%x.%");
}

}  // namespace
}  // namespace linkgain::test

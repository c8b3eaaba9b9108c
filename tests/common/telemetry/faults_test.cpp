#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "linkgain/telemetry/error_counters.hpp"
#include "linkgain/telemetry/kernel_log.hpp"
#include "nvml_library.hpp"
#include "support/nvml_scenario.hpp"
#include "support/process_support.hpp"
#include "support/program.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

TEST(KernelLog, ReadsXidAndSxidRecords) {
  const std::string fatal = "Fatal, Link 30 LTSSM Fault Up";
  const std::vector<XidEvent> events = parse_kernel_log(
      "6,900,518238,-;nvidia: loading out-of-tree module taints kernel.\n"
      " SUBSYSTEM=module\n"
      "4,1234,15678901,-;NVRM: Xid (PCI:0000:41:00): 79, pid='<unknown>', name=<unknown>, GPU has "
      "fallen off the bus.\n"
      "3,1235,20000000,-;nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, " +
      fatal +
      "\n"
      "4,1236,21500000,-;NVRM: Xid (PCI:0000:42:00): 31, pid=123, name=python\n");
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].pci_bus_id, "0000:41:00");
  EXPECT_EQ(events[0].code, 79);
  EXPECT_FALSE(events[0].from_switch);
  EXPECT_NEAR(events[0].seconds_after_boot, 15.678901, 1e-9);
  EXPECT_THAT(events[0].text, HasSubstr("fallen off"));
  EXPECT_TRUE(events[1].from_switch);
  EXPECT_EQ(events[1].pci_bus_id, "0000:05:00.0");
  EXPECT_EQ(events[1].text, fatal);
  EXPECT_EQ(events[2].code, 31);
}

TEST(KernelLog, TakesNothingElseForAnError) {
  EXPECT_THAT(parse_kernel_log(""), IsEmpty());
  EXPECT_THAT(parse_kernel_log("NVRM: Xid (PCI:0000:41:00): 79, no head\n"), IsEmpty());
  EXPECT_THAT(parse_kernel_log("4,1,2,-;NVRM: Xid (PCI:0000:41:00"), IsEmpty());
  EXPECT_THAT(parse_kernel_log("4,1,2,-;NVRM: Xid (PCI:0000:41:00): what\n"), IsEmpty());
}

XidSeverity severity(int code) {
  XidEvent event;
  event.code = code;
  return meaning_of(event).severity;
}

TEST(KernelLog, KnowsTheCommonestCodes) {
  for (int code : {13, 31, 43, 45}) EXPECT_EQ(severity(code), XidSeverity::application) << code;
  for (int code : {48, 62, 64, 74, 79, 95, 119, 120}) {
    EXPECT_EQ(severity(code), XidSeverity::broken) << code;
  }
  for (int code : {63, 92, 94}) EXPECT_EQ(severity(code), XidSeverity::degraded) << code;
  XidEvent unknown;
  unknown.code = 9999;
  EXPECT_EQ(meaning_of(unknown).severity, XidSeverity::degraded);
  EXPECT_EQ(meaning_of(unknown).what, "not known here");
}

TEST(KernelLog, ErrorsOfAnInstanceOfMigAreThoseOfItsGpu) {
  const auto events = parse_kernel_log(
      "4,1,88112233,-;NVRM: Xid (PCI:0000:41:00 GPU-I:03): 95, pid=7194, name=python3, "
      "Uncontained: CE User Channel (0x9)\n");
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events[0].pci_bus_id, "0000:41:00");
  EXPECT_EQ(events[0].code, 95);
  EXPECT_EQ(meaning_of(events[0]).severity, XidSeverity::broken);
}

struct LinkError {
  std::string line;  ///< as the driver writes it, after "NVRM: " or "nvidia-nvswitch3: "
  XidSeverity severity;
  std::string what;
};

TEST(KernelLog, ErrorsOfLinksSayThemselvesHowBadTheyAre) {
  using enum XidSeverity;
  const std::string nvlink = "NVLink error";
  const std::string nvswitch = "NVSwitch error";
  const std::string gpu = "NVRM: Xid (PCI:0000:06:00): ";
  const LinkError rows[] = {
      {gpu + "145, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x8 0x1 0x0 0x100000 0x4)",
       degraded, nvlink + " on link 13, not fatal"},
      {gpu + "149, NETIR Fatal XC0 i0 Link 07 (0x1)", broken, nvlink + " on link 7"},
      {gpu + "144, SAW_MVB Nonfatal", degraded, nvlink + ", not fatal"},
      {gpu + "146, pid=7, name=fatal_test, TLW_RX Nonfatal XC1 i0 Link 2", degraded,
       nvlink + " on link 2, not fatal"},
      {gpu + "147, pid=7, name=Nonfatal, TREX Fatal XC1 i0 Link 2", broken, nvlink + " on link 2"},
      {gpu + "148, NVLPW_CTRL", degraded, nvlink + ", not fatal"},
      {gpu + "150, MSE Fatal", broken, nvlink},
      {gpu + "74, pid=1, name=a, NVLink: fatal error detected on link 3(0x10000, 0x0)", broken,
       nvlink + " on link 3"},
      {gpu + "74, 0x10000", broken, nvlink},
      {"nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30 LTSSM Fault Up", broken,
       nvswitch + " on link 30"},
      {"nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress packet",
       degraded, nvswitch + " on link 32, not fatal"},
      {"nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 10003, Host_unhandled", degraded,
       nvswitch + ", not fatal"},
  };
  for (const LinkError& row : rows) {
    const auto events = parse_kernel_log("4,1,88112233,-;" + row.line);
    ASSERT_THAT(events, SizeIs(1)) << row.line;
    EXPECT_EQ(meaning_of(events[0]).severity, row.severity) << row.line;
    EXPECT_EQ(meaning_of(events[0]).what, row.what) << row.line;
  }
}

/// Says whether each error of this log came before the driver was last loaded.
std::vector<bool> past_events(const std::string& records) {
  std::vector<bool> past;
  for (const XidEvent& event : parse_kernel_log(records)) past.push_back(event.is_past);
  return past;
}

TEST(KernelLog, ErrorsOfBeforeTheDriverWasLastLoadedArePast) {
  const std::string xid = "4,1,1,-;NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\n";
  const std::string loading = "4,1,1,-;NVRM: loading NVIDIA UNIX x86_64 Kernel Module  570.1\n";
  const std::string open = "4,1,1,-;NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  570\n";
  const std::string begin = "6,1,1,-;nvidia-nvlink: Nvlink Core is being initialized, major 235\n";
  EXPECT_THAT(past_events(xid), ElementsAre(false)) << "the log begins later";
  EXPECT_THAT(past_events(loading + xid), ElementsAre(false));
  EXPECT_THAT(past_events(loading + xid + open), ElementsAre(true));
  EXPECT_THAT(past_events(xid + loading + xid + loading + xid), ElementsAre(true, true, false));
  EXPECT_THAT(past_events(begin + loading + xid + begin + xid + loading + xid),
              ElementsAre(true, false, false))
      << "GPUs are looked for between the driver's two lines";
  EXPECT_THAT(past_events(loading + xid + begin), ElementsAre(false)) << "it did not load";
}

TEST(KernelLog, AGpuThatTheDriverLostIsXid79) {
  const std::string first = "4,9,1843,-;NVRM: The NVIDIA GPU 0000:00:07.0";
  const std::string second = "(PCI ID: 10de:2335) installed in this system has";
  const std::string third = "fallen off the bus and is not responding to commands.";
  for (const std::string& records :
       {first + "\n " + second + "\n " + third + "\n",
        first + "\\x0aNVRM: " + second + "\\x0aNVRM: " + third + "\n",
        first + "\n4,10,1844,-;NVRM: " + second + "\n4,11,1845,-;NVRM: " + third}) {
    const auto events = parse_kernel_log(records);
    ASSERT_THAT(events, SizeIs(1)) << records;
    EXPECT_EQ(events[0].code, 79);
    EXPECT_EQ(events[0].pci_bus_id, "0000:00:07.0");
    EXPECT_NEAR(events[0].seconds_after_boot, 0.001843, 1e-9);
  }
  EXPECT_THAT(parse_kernel_log(first + "\n (PCI ID: 10de:2335) is not supported\n"), IsEmpty());
  EXPECT_THAT(parse_kernel_log(first), IsEmpty());
}

TEST(KernelLog, SaysWhyItCannotBeRead) {
  const auto missing = read_kernel_log("/nonexistent/kmsg");
  EXPECT_FALSE(missing.measured());
  EXPECT_NE(missing.reason(), "");
  const ScratchFolder folder;
  const auto path = folder / "kmsg";
  std::ofstream(path).close();
  EXPECT_FALSE(read_kernel_log(path).measured()) << "an empty log says nothing";
  std::ofstream(path) << "4,1,2000000,-;NVRM: Xid (PCI:0000:41:00): 13, Graphics Exception\n";
  const auto read = read_kernel_log(path);
  ASSERT_TRUE(read.measured());
  ASSERT_EQ(read.value().size(), 1U);
  EXPECT_EQ(read.value()[0].code, 13);
}

class GpuFaults : public testing::Test {
 protected:
  GpuFaults() { log(0.0, "loading NVIDIA UNIX x86_64 Kernel Module"); }

  /// Writes what the kernel logged `seconds` after its start.
  void log(double seconds, const std::string& text) const {
    std::ofstream(log_file(), std::ios::app)
        << "4,1," << static_cast<long>(seconds * 1e6) << ",-;NVRM: " << text << "\n";
  }
  std::filesystem::path log_file() const { return folder_ / "kmsg"; }

  static NumberedGpus both(const test::NvmlScenario& scenario) {
    return {{0, scenario.gpu(0)}, {1, scenario.gpu(1)}};
  }
  /// Returns "0000:0a:00", as the driver writes it.
  static std::string address(const test::NvmlScenario& scenario, int gpu) {
    const std::string id = scenario.gpu(gpu).pci_bus_id().value();
    return id.substr(4, id.rfind('.') - 4);
  }

  ScratchFolder folder_;
};

TEST_F(GpuFaults, NameAGpuThatFellOffTheBus) {
  const test::NvmlScenario scenario("lost-gpu", NVML_DOUBLE);
  const std::vector<GpuFault> faults = gpu_faults(both(scenario), Seconds{0.0}, log_file());
  ASSERT_THAT(faults, SizeIs(1));
  EXPECT_THAT(faults[0].text, AllOf(StartsWith("GPU 1 "), HasSubstr("(NVML error 15)")));
  EXPECT_THAT(faults[0].advice, HasSubstr("restart the machine"));
}

TEST_F(GpuFaults, NameXidErrorsSinceTheRunBegan) {
  const test::NvmlScenario scenario("h200x2", NVML_DOUBLE);
  log(10.0, "Xid (PCI:" + address(scenario, 0) + "): 31, before the run");
  log(200.0, "Xid (PCI:" + address(scenario, 1) + "): 74, NVLink: fatal error");
  log(201.0, "Xid (PCI:0000:ff:00): 79, of a GPU of others");
  std::ofstream(log_file(), std::ios::app)
      << "3,1,202000000,-;nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30\n";
  const std::vector<GpuFault> faults = gpu_faults(both(scenario), Seconds{100.0}, log_file());
  ASSERT_THAT(faults, SizeIs(2));
  EXPECT_THAT(faults[0].text, StartsWith("GPU 1: Xid 74"));
  EXPECT_THAT(faults[1].text, AllOf(HasSubstr("0000:05:00.0"), HasSubstr("SXid 20034")));
  EXPECT_THAT(faults[0].advice, HasSubstr("bridge"));
}

TEST_F(GpuFaults, AreNoneOfGpusThatAreWell) {
  const test::NvmlScenario scenario("h200x2", NVML_DOUBLE);
  EXPECT_THAT(gpu_faults(both(scenario), Seconds{0.0}, log_file()), IsEmpty());
  EXPECT_THAT(gpu_faults({}, Seconds{0.0}, "/dev/null"), IsEmpty()) << "no GPU";
}

TEST_F(GpuFaults, SayThatXidErrorsCouldNotBeReadAndWhy) {
  const test::NvmlScenario scenario("lost-gpu", NVML_DOUBLE);
  const std::vector<GpuFault> faults = gpu_faults(both(scenario), Seconds{0.0}, folder_ / "none");
  ASSERT_THAT(faults, SizeIs(2)) << "beside the GPU that is lost";
  EXPECT_THAT(faults[1].text, AllOf(StartsWith("Xid errors "), HasSubstr("no kernel log")));
  EXPECT_THAT(faults[1].advice, HasSubstr("dmesg"));
  EXPECT_TRUE(faults[1].is_unknown);
  EXPECT_FALSE(faults[0].is_unknown);
  EXPECT_THAT(gpu_faults(both(scenario), Seconds{0.0}, "/dev/null"), SizeIs(2)) << "it is empty";
}

TEST(CudaErrorAdvice, KnowsThoseThatAJobDoesNotSurvive) {
  const auto advice = [](const char* name) {
    return std::string(advice_for_cuda_error("last words:\n  linkgain-bench: CUDA: oops (" +
                                             std::string(name) + "), at stream.cpp:7"));
  };
  EXPECT_THAT(advice("cudaErrorECCUncorrectable"), HasSubstr("214"));
  EXPECT_THAT(advice("cudaErrorNvlinkUncorrectable"), HasSubstr("220"));
  EXPECT_THAT(advice("cudaErrorLaunchFailure"), HasSubstr("719"));
  EXPECT_THAT(advice("cudaErrorSystemNotReady"), HasSubstr("fabricmanager"));
  EXPECT_THAT(advice("cudaErrorUnknown"), HasSubstr("999"));
  EXPECT_EQ(advice("cudaErrorInvalidValue"), "");
  EXPECT_EQ(advice("CUDA_ERROR_ECC_UNCORRECTABLE"), advice("cudaErrorECCUncorrectable"));
  EXPECT_EQ(advice("CUDA_ERROR_NVLINK_UNCORRECTABLE"), advice("cudaErrorNvlinkUncorrectable"));
  EXPECT_EQ(advice("CUDA_ERROR_LAUNCH_FAILED"), advice("cudaErrorLaunchFailure"));
  EXPECT_EQ(advice("CUDA_ERROR_SYSTEM_NOT_READY"), advice("cudaErrorSystemNotReady"));
  EXPECT_EQ(advice("CUDA_ERROR_UNKNOWN"), advice("cudaErrorUnknown"));
}

TEST(CudaErrorAdvice, KnowsThemByTheWordsThatProgramsShow) {
  EXPECT_THAT(advice_for_cuda_error("a\nRuntimeError: CUDA error: unspecified launch failure\nb"),
              HasSubstr("719"));
  EXPECT_THAT(advice_for_cuda_error("Cuda failure 214 'uncorrectable ECC error encountered'"),
              HasSubstr("214"));
  EXPECT_THAT(advice_for_cuda_error("cudaMalloc: uncorrectable NVLink error detected during the"),
              HasSubstr("220"));
  EXPECT_THAT(advice_for_cuda_error("CUDA: Error 802: system not yet initialized"),
              HasSubstr("802"));
  EXPECT_THAT(advice_for_cuda_error("CUDA unknown error - this may be"), HasSubstr("999"));
  EXPECT_EQ(advice_for_cuda_error("CUDA is there\nls: unknown error"), "") << "not of CUDA";
}

TEST(ExplainedLoss, HasAdviceOfItsLastWordsAndOfFaultsBeforeItsOwn) {
  const Warning warning = explained({"job-lost", "died", "own"}, "cudaErrorLaunchFailure",
                                    {{"GPU 1", "look"}, {"GPU 2", "look"}});
  EXPECT_EQ(warning.text, "died\nGPU 1\nGPU 2");
  EXPECT_THAT(warning.advice, AllOf(HasSubstr("719"), EndsWith("; look; own")));
}

/// NVML's double, whose counters grow by what the test writes.
class ErrorCounters : public testing::Test {
 protected:
  void grow(const std::string& line) const {
    std::ofstream(folder_ / "errors", std::ios::app) << line << "\n";
  }

  static ErrorCounterReader reader_of(const test::NvmlScenario& scenario) {
    return ErrorCounterReader({{4, scenario.gpu(0)}, {2, scenario.gpu(1)}});
  }

  ErrorCounts read(ErrorCounterReader& reader) const {
    return reader.read(Seconds{100.0}, folder_ / "kmsg");
  }

  static std::optional<std::int64_t> value_of(const ErrorCounts& counts,
                                              const ErrorCounter& counter) {
    for (const ErrorCount& each : counts) {
      if (each.counter == counter) return each.value;
    }
    return std::nullopt;
  }

  ScratchFolder folder_;
  test::ScopedEnvironment errors_{"LINKGAIN_NVML_ERRORS", folder_ / "errors"};
};

TEST_F(ErrorCounters, OfABridgeNameLinkAndPeer) {
  const test::NvmlScenario scenario("rtx3090-nv4", NVML_DOUBLE);
  ErrorCounterReader reader = reader_of(scenario);
  const ErrorCounter crc{4, ErrorKind::nvlink_crc_errors, 3, 2};
  const ErrorCounts first = read(reader);
  EXPECT_THAT(first, SizeIs(2 * (4 * 4 + 1))) << "no log of the kernel, so no Xid errors";
  EXPECT_EQ(value_of(first, crc), 0);
  grow("0 3 crc_errors 5");
  grow("1 0 recoveries 1");
  const ErrorCounts second = read(reader);
  EXPECT_EQ(value_of(second, crc), 5);
  EXPECT_EQ(value_of(second, {2, ErrorKind::nvlink_recoveries, 0, 4}), 1);
  EXPECT_EQ(value_of(second, {4, ErrorKind::nvlink_replays, 3, 2}), 0);
}

/// Reads fields; links to a switch have no peer.
TEST_F(ErrorCounters, OfHopperAreReadLinkByLinkToo) {
  const test::NvmlScenario scenario("link-errors", NVML_DOUBLE);
  ErrorCounterReader reader = reader_of(scenario);
  const ErrorCounter replays{2, ErrorKind::nvlink_replays, 17, {}};
  const ErrorCounts first = read(reader);
  EXPECT_EQ(value_of(first, {2, ErrorKind::nvlink_replays, 0, {}}), 3) << "the scenario's";
  EXPECT_EQ(value_of(first, replays), 0);
  grow("1 17 replays 9");
  EXPECT_EQ(value_of(read(reader), replays), 9);
}

TEST_F(ErrorCounters, OfALinkThatIsDownAreNotRead) {
  const test::NvmlScenario scenario("one-link-down", NVML_DOUBLE);
  ErrorCounterReader reader = reader_of(scenario);
  const ErrorCounts counts = read(reader);
  EXPECT_FALSE(value_of(counts, {4, ErrorKind::nvlink_replays, 0, {}}));
  EXPECT_FALSE(value_of(counts, {4, ErrorKind::nvlink_outages, 0, {}}));
  EXPECT_EQ(value_of(counts, {4, ErrorKind::nvlink_replays, 1, {}}), 0);
  EXPECT_EQ(value_of(counts, {4, ErrorKind::nvlink_outages, 1, {}}), 0);
}

TEST_F(ErrorCounters, OfALinkThatGoesDownOrCanNoLongerBeReadHaveAnOutage) {
  const test::NvmlScenario scenario("rtx3090-nv4", NVML_DOUBLE);
  ErrorCounterReader reader = reader_of(scenario);
  const ErrorCounter down{4, ErrorKind::nvlink_outages, 3, 2};
  const ErrorCounter unreadable{2, ErrorKind::nvlink_outages, 0, 4};
  const ErrorCounts first = read(reader);
  EXPECT_EQ(value_of(first, down), 0);
  EXPECT_EQ(value_of(first, unreadable), 0);
  grow("0 3 down 1");
  grow("1 0 unreadable 1");
  const ErrorCounts second = read(reader);
  EXPECT_EQ(value_of(second, down), 1);
  EXPECT_EQ(value_of(second, unreadable), 1);
  EXPECT_EQ(value_of(second, {4, ErrorKind::nvlink_outages, 0, 2}), 0);
  std::filesystem::remove(folder_ / "errors");
  EXPECT_EQ(value_of(read(reader), down), 0) << "it is up again";
}

TEST_F(ErrorCounters, CountPcieReplaysAndXidErrorsSinceTheBegin) {
  const test::NvmlScenario scenario("no-nvlink", NVML_DOUBLE);
  ErrorCounterReader reader = reader_of(scenario);
  const std::string place = scenario.gpu(0).pci_bus_id().value();
  const std::string address = place.substr(4, place.rfind('.') - 4);
  std::ofstream log(folder_ / "kmsg");
  log << "4,1,10000000,-;NVRM: Xid (PCI:" << address << "): 31, before the run\n"
      << "4,2,200000000,-;NVRM: Xid (PCI:" << address << "): 74, NVLink: fatal error\n"
      << "4,3,201000000,-;NVRM: Xid (PCI:0000:ff:00): 79, of a GPU of others\n"
      << std::flush;
  grow("1 0 pcie_replays 6");
  const ErrorCounts counts = read(reader);
  EXPECT_THAT(counts, SizeIs(4));
  EXPECT_EQ(value_of(counts, {4, ErrorKind::pcie_replays, {}, {}}), 0);
  EXPECT_EQ(value_of(counts, {2, ErrorKind::pcie_replays, {}, {}}), 6);
  EXPECT_EQ(value_of(counts, {4, ErrorKind::xid, {}, {}}), 1);
  EXPECT_EQ(value_of(counts, {2, ErrorKind::xid, {}, {}}), 0);
}

TEST_F(ErrorCounters, AreLeftOutWhereTheDriverTellsNothing) {
  ErrorCounterReader reader;
  EXPECT_THAT(read(reader), IsEmpty()) << "of no GPU";
  const test::NvmlScenario lost("lost-gpu", NVML_DOUBLE);
  ErrorCounterReader of_lost({{1, lost.gpu(1)}});
  EXPECT_THAT(read(of_lost), IsEmpty());
}

// A driver that does not answer, through the NVML double.

constexpr Seconds kSoon{0.3};

TEST(DriverWatch, EndsTheProcessWhereTheDriverHangs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const ScratchFolder folder;
  const std::string gate = folder / "gate";
  ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
  EXPECT_EXIT(
      {
        ::setenv("LINKGAIN_NVML_SCENARIO", "h200x2", 1);
        ::setenv("LINKGAIN_NVML_GATE", gate.c_str(), 1);
        std::string reason;
        NvmlLibrary::load(NVML_DOUBLE, reason, reason, kSoon);
        std::exit(0);
      },
      testing::ExitedWithCode(3), "nvmlInit_v2");
}

TEST(DriverWatch, EndsTheProcessWhereTheLibraryCannotBeRead) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const ScratchFolder folder;
  const std::string pipe = folder / "libnvidia-ml.so.1";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EXIT(
      {
        std::string reason;
        NvmlLibrary::load(pipe, reason, reason, kSoon);
        std::exit(0);
      },
      testing::ExitedWithCode(3), "dlopen");
}

TEST(DriverWatch, LetsCallsOneAfterTheOtherTakeLongerInAll) {
  DriverWatch watch(Seconds{2.0});
  for (int i = 0; i < 8; ++i) {
    const DriverWatch::Call call(watch, "short");
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
}

}  // namespace
}  // namespace linkgain::test

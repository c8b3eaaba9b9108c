#include "linkgain/telemetry/kernel_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

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

/// Whether each error of this log came before the driver was last loaded.
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
  const auto path = std::filesystem::path(testing::TempDir()) / "linkgain_kmsg";
  std::ofstream(path).close();
  EXPECT_FALSE(read_kernel_log(path).measured()) << "an empty log says nothing";
  std::ofstream(path) << "4,1,2000000,-;NVRM: Xid (PCI:0000:41:00): 13, Graphics Exception\n";
  const auto read = read_kernel_log(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(read.measured());
  ASSERT_EQ(read.value().size(), 1U);
  EXPECT_EQ(read.value()[0].code, 13);
}

}  // namespace
}  // namespace linkgain::test

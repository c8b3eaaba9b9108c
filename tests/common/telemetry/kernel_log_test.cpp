#include "linkgain/telemetry/kernel_log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

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
  for (int code : {48, 62, 64, 74, 79, 95, 119, 120, 145}) {
    EXPECT_EQ(severity(code), XidSeverity::broken) << code;
  }
  for (int code : {63, 92, 94}) EXPECT_EQ(severity(code), XidSeverity::degraded) << code;
  XidEvent unknown;
  unknown.code = 9999;
  EXPECT_EQ(meaning_of(unknown).severity, XidSeverity::degraded);
  EXPECT_EQ(meaning_of(unknown).what, "not known here");
}

TEST(KernelLog, ASwitchSaysItselfHowBadItIs) {
  XidEvent event;
  event.from_switch = true;
  event.text = "Non-fatal, Link 32 egress packet";
  EXPECT_EQ(meaning_of(event).severity, XidSeverity::degraded);
  event.text = "Fatal, Link 32";
  EXPECT_EQ(meaning_of(event).severity, XidSeverity::broken);
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

#include "linkgain/telemetry/error_counters.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/nvml_scenario.hpp"
#include "support/process_support.hpp"

namespace linkgain::test {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

/// NVML's double, whose counters grow by what the test writes.
class ErrorCounters : public testing::Test {
 protected:
  void grow(const std::string& line) const {
    std::ofstream(folder_.path() / "errors", std::ios::app) << line << "\n";
  }

  static ErrorCounterReader reader_of(const test::NvmlScenario& scenario) {
    return ErrorCounterReader({{4, scenario.gpu(0)}, {2, scenario.gpu(1)}});
  }

  ErrorCounts read(ErrorCounterReader& reader) const {
    return reader.read(Seconds{100.0}, folder_.path() / "kmsg");
  }

  static std::optional<std::int64_t> value_of(const ErrorCounts& counts,
                                              const ErrorCounter& counter) {
    for (const ErrorCount& each : counts) {
      if (each.counter == counter) return each.value;
    }
    return std::nullopt;
  }

  test::TemporaryFolder folder_;
  test::ScopedEnvironment errors_{"LINKGAIN_NVML_ERRORS", folder_.path() / "errors"};
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

/// By fields; links to a switch have no peer.
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
  std::filesystem::remove(folder_.path() / "errors");
  EXPECT_EQ(value_of(read(reader), down), 0) << "it is up again";
}

TEST_F(ErrorCounters, CountPcieReplaysAndXidErrorsSinceTheBegin) {
  const test::NvmlScenario scenario("no-nvlink", NVML_DOUBLE);
  ErrorCounterReader reader = reader_of(scenario);
  const std::string place = scenario.gpu(0).pci_bus_id().value();
  const std::string address = place.substr(4, place.rfind('.') - 4);
  std::ofstream log(folder_.path() / "kmsg");
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

}  // namespace
}  // namespace linkgain::test

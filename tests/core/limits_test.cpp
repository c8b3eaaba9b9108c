#include "linkgain/core/limits.hpp"

#include <gtest/gtest.h>

namespace linkgain {
namespace {

RankInfo rank_with(int active, double rate, int version) {
  RankInfo rank;
  rank.gpu.emplace();
  rank.gpu->nvlink_links = 18;
  rank.gpu->nvlink_links_active = active;
  rank.gpu->nvlink_rate_gb_per_s = rate;
  rank.gpu->nvlink_version = version;
  return rank;
}

Machine machine_of(std::vector<RankInfo> ranks) {
  Machine machine;
  machine.ranks = std::move(ranks);
  return machine;
}

TEST(NvlinkPayload, IsKnownWhereTheCodingIsPublished) {
  // The payload rates of the product sheets: 25 GB/s, 25 GB/s and 50 GB/s a link.
  EXPECT_NEAR(25.78125 * nvlink_payload_share(2).value(), 25.0, 1e-9);
  EXPECT_NEAR(26.5625 * nvlink_payload_share(6).value(), 25.0, 1e-9);
  EXPECT_NEAR(53.125 * nvlink_payload_share(7).value(), 50.0, 1e-9);
  for (const int version : {-1, 0, 1, 4, 5, 8, 99}) {
    EXPECT_FALSE(nvlink_payload_share(version)) << version;
  }
}

TEST(NvlinkVersion, FollowsNvmlsNumbers) {
  const std::vector<std::string> names{"", "1.0", "2.0", "2.2", "3.0", "3.1", "4.0", "5.0", "6.0"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(nvlink_version_name(static_cast<int>(i)), names[i]);
  }
  EXPECT_EQ(nvlink_version_name(99), "");
  EXPECT_EQ(nvlink_version_name(-1), "");
}

TEST(Limit, OfNvlinkIsThePayloadOfTheSlowestRank) {
  const Machine machine = machine_of({rank_with(18, 26.5625, 6), rank_with(17, 26.5625, 6)});
  const auto limit = limit_of(machine, Path::nvlink);
  ASSERT_TRUE(limit);
  EXPECT_NEAR(limit->gb_per_s, 17 * 25.0, 1e-9);
  EXPECT_EQ(limit->what, "NVLink payload");
}

TEST(Limit, IsTheRateWhereThePayloadsShareIsNotKnown) {
  const auto limit = limit_of(machine_of({rank_with(4, 14.0625, 5)}), Path::nvlink);
  ASSERT_TRUE(limit);
  EXPECT_DOUBLE_EQ(limit->gb_per_s, 56.25);
  EXPECT_EQ(limit->what, "NVLink rate");
}

TEST(Limit, IsAbsentWhereItWasNotMeasuredOnOneRank) {
  const RankInfo known = rank_with(18, 26.5625, 6);
  RankInfo no_rate = known;
  no_rate.gpu->nvlink_rate_gb_per_s.reset();
  RankInfo no_count = known;
  no_count.gpu->nvlink_links_active.reset();
  RankInfo no_gpu = known;
  no_gpu.gpu.reset();
  for (const RankInfo& rank : {no_rate, no_count, no_gpu, rank_with(0, 26.5625, 6)}) {
    EXPECT_FALSE(limit_of(machine_of({known, rank}), Path::nvlink));
  }
  EXPECT_FALSE(limit_of(machine_of({}), Path::nvlink));
  EXPECT_FALSE(limit_of(machine_of({known, known}), Path::host_memory));
  EXPECT_FALSE(limit_of(machine_of({known, known}), Path::unknown));
}

TEST(Limit, OfOtherPathsIsTheSlowerDirectionOfTheHostCopy) {
  RankInfo first = rank_with(18, 26.5625, 6);
  first.host_copy = HostCopyRates{55.4, 55.3};
  RankInfo second = first;
  second.host_copy = HostCopyRates{27.5, 28.0};
  for (const Path path : {Path::pcie_p2p, Path::host_memory, Path::mixed, Path::network}) {
    const auto limit = limit_of(machine_of({first, second}), path);
    ASSERT_TRUE(limit);
    EXPECT_DOUBLE_EQ(limit->gb_per_s, 27.5);
    EXPECT_EQ(limit->what, "pinned host copy");
  }
  EXPECT_DOUBLE_EQ(limit_of(machine_of({first}), Path::host_memory)->gb_per_s, 55.3);
  second.host = "another";
  EXPECT_FALSE(limit_of(machine_of({first, second}), Path::network))
      << "of adapters nothing is known";
  second.host = first.host;
  second.host_copy.reset();
  EXPECT_FALSE(limit_of(machine_of({first, second}), Path::host_memory));
}

}  // namespace
}  // namespace linkgain

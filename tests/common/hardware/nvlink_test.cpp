#include "linkgain/hardware/nvlink.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace linkgain {
namespace {

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

}  // namespace
}  // namespace linkgain

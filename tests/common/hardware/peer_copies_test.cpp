#include "linkgain/hardware/peer_copies.hpp"

#include <gtest/gtest.h>

namespace linkgain::test {
namespace {

TEST(PeerCopies, ComeBackFromTheirLine) {
  const std::vector<PeerCopy> copies{
      {"00000000:01:00.0", "00000000:02:00.0", 52.5},
      {"00000000:02:00.0", "00000000:01:00.0", Missing{"out of memory"}}};
  const std::string line = to_json_line(copies);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const Reading<std::vector<PeerCopy>> read = peer_copies_in(line);
  ASSERT_TRUE(read.measured());
  EXPECT_EQ(read.value(), copies);
}

TEST(PeerCopies, AreMissingInOtherLines) {
  for (const char* line : {"", "{}", "[1]", "{\"peer_copies\": [{}]}", "no JSON"}) {
    EXPECT_FALSE(peer_copies_in(line).measured()) << line;
    EXPECT_FALSE(peer_copies_in(line).reason().empty()) << line;
  }
}

}  // namespace
}  // namespace linkgain::test

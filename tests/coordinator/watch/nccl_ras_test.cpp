#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/watch/hang_report.hpp"

namespace linkgain::test {
namespace {

constexpr const char* kHead =
    "NCCL version 2.30.7 compiled with CUDA 12.8\n\nJob summary\n===========\n\n"
    "Communicators... (0.00s)\n=============\n\n";

TEST(NcclRas, NamesTheRankThatIsBehind) {
  const RasAnswer answer =
      parse_ras(std::string(kHead) +
                "Warnings\n========\n\n#0-0 (78db) MISMATCH\n"
                "  Communicator ranks have different AllReduce operation counts\n"
                "  7 ranks have launched up to operation 64\n"
                "  Rank 7 has launched up to operation 60 -- GPU 3 at node1\n");
  EXPECT_EQ(answer.reason, "");
  EXPECT_THAT(answer.behind,
              testing::ElementsAre(RankBehind{7, "AllReduce", 60, 64, "GPU 3 at node1"}));
  EXPECT_THAT(answer.lines.back(), testing::StartsWith("  Rank 7 has"));
}

TEST(NcclRas, ReadsGroupsRanksWithoutAnyOperationAndSeveralKinds) {
  const RasAnswer answer =
      parse_ras(std::string(kHead) +
                "#0-0 (1) MISMATCH\n"
                "  Communicator ranks have different AllReduce operation counts\n"
                "  2 ranks have launched up to operation 9\n"
                "  Rank 0 -- GPU 0 at a\n"
                "  Rank 1 -- GPU 1 at b\n"
                "  Rank 2 has launched up to operation 12 -- GPU 2 managed by process 3 on node a\n"
                "  Communicator ranks have different Send operation counts\n"
                "  Rank 0 has launched up to operation 1 -- here\n"
                "  Rank 1 has not launched any operations -- there\n"
                "#1-0 (2) INCOMPLETE\n"
                "  Missing communicator data from 1 rank\n"
                "  Rank 7 -- GPU 3 managed by process 4 on node b\n");
  EXPECT_THAT(answer.behind, testing::ElementsAre(RankBehind{0, "AllReduce", 9, 12, "GPU 0 at a"},
                                                  RankBehind{1, "AllReduce", 9, 12, "GPU 1 at b"},
                                                  RankBehind{1, "Send", 0, 1, "there"}));
}

TEST(NcclRas, NobodyIsBehindInAHealthyJob) {
  const RasAnswer answer = parse_ras(std::string(kHead) + "    0  1  RUNNING  OK\n\nErrors\n");
  EXPECT_EQ(answer.reason, "");
  EXPECT_TRUE(answer.behind.empty());
}

TEST(NcclRas, KeepsSomeLinesAndRefusesOtherTexts) {
  std::string text = kHead;
  for (int i = 0; i < 100; ++i) text += "a line\n";
  EXPECT_EQ(parse_ras(text).lines.size(), kMostRasLines);
  EXPECT_NE(parse_ras("HTTP/1.1 400 Bad Request\n").reason, "");
  EXPECT_NE(parse_ras("").reason, "");
}

TEST(NcclRas, SaysWhyItWasNotAsked) {
  for (const char* address :
       {"28028", "127.0.0.1:", "127.0.0.1:1", "[::1]:1", ":1", "127.0.0.1:port"}) {
    EXPECT_NE(ask_ras(address, Seconds{1.0}).reason, "") << address;
  }
}

}  // namespace
}  // namespace linkgain::test

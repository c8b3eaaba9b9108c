#include "transfers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data_mapping.hpp"

namespace linkgain {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Bytes kMebibyte{std::int64_t{1} << 20};

std::vector<Transfer> of(const std::string& name) { return transfers_of(parse_case_name(name)); }

TEST(Transfers, GoByPairRingOrRoot) {
  EXPECT_THAT(of("copy_push/1MiB/np4/pair=2-1"), ElementsAre(Transfer{2, 1, {}}));
  EXPECT_THAT(of("copy_pull/1MiB/np4/pair=2-1/both"),
              ElementsAre(Transfer{2, 1, {}}, Transfer{1, 2, {}}));
  EXPECT_THAT(of("copy_push/1MiB/np3"),
              ElementsAre(Transfer{0, 1, {}}, Transfer{1, 2, {}}, Transfer{2, 0, {}}));
  EXPECT_THAT(of("all_to_one/1MiB/np3/root=1"),
              ElementsAre(Transfer{0, 1, {}}, Transfer{2, 1, Bytes{2 * kMebibyte.value}}));
  EXPECT_THAT(of("one_to_all/1MiB/np3"), ElementsAre(Transfer{0, 1, {}}, Transfer{0, 2, {}}));
  EXPECT_THAT(of("host_to_device/1MiB/np3"), IsEmpty());
  EXPECT_THAT(of("latency/8B/np3/pair=0-1"), IsEmpty());
}

TEST(Transfers, GiveEachRankOneMessageToMoveAtMost) {
  for (const char* name :
       {"copy_push/1MiB/np4", "copy_pull/1MiB/np4", "copy_push/1MiB/np4/pair=0-1/both",
        "copy_pull/1MiB/np4/pair=0-1", "all_to_one/1MiB/np4/root=2", "one_to_all/1MiB/np4"}) {
    const Case c = parse_case_name(name);
    std::vector<int> moved(4);
    for (const Transfer& transfer : transfers_of(c)) {
      ++moved[static_cast<std::size_t>(executor_of(c, transfer))];
    }
    for (const int each : moved) EXPECT_LE(each, 1) << name;
  }
}

TEST(Transfers, APushIsTheSendersAndAPullTheReceivers) {
  const auto executor = [](const char* name) {
    const Case c = parse_case_name(name);
    return executor_of(c, transfers_of(c).front());
  };
  EXPECT_EQ(executor("copy_push/1MiB/np4/pair=3-1"), 3);
  EXPECT_EQ(executor("copy_pull/1MiB/np4/pair=3-1"), 1);
  EXPECT_EQ(executor("all_to_one/1MiB/np4/root=2"), 0) << "others push";
  EXPECT_EQ(executor("one_to_all/1MiB/np4/root=2"), 0) << "others pull";
}

/// What arrives is what is checked: every transfer's place holds all of the sender's input.
TEST(Transfers, ArriveWhereTheCheckLooks) {
  for (const char* name : {"copy_push/1MiB/np4", "copy_pull/1MiB/np4/pair=3-1/both",
                           "all_to_one/1MiB/np4/root=2", "one_to_all/1MiB/np4/root=1"}) {
    const Case c = parse_case_name(name);
    for (int rank = 0; rank < c.ranks; ++rank) {
      std::vector<ExpectedPart> arriving;
      for (const Transfer& transfer : transfers_of(c)) {
        if (transfer.to != rank) continue;
        arriving.push_back(
            {transfer.offset.value / size_of(c.type), c.elements(), 0, transfer.from});
      }
      EXPECT_EQ(arriving, expected_parts(c, rank)) << name << ", rank " << rank;
    }
  }
}

}  // namespace
}  // namespace linkgain

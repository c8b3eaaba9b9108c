#include "linkgain/record/limits.hpp"

#include <gtest/gtest.h>

#include "linkgain/base/errors.hpp"

namespace linkgain::test {
namespace {

const Case kAllReduce = parse_case_name("all_reduce/float32/sum/1GiB/np2");

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
  for (std::size_t i = 0; i < machine.ranks.size(); ++i) {
    machine.ranks[i].rank = static_cast<int>(i);
  }
  return machine;
}

RankInfo copying(double to_gpu, double from_gpu, std::optional<CopyRates> alone = {}) {
  RankInfo rank = rank_with(18, 26.5625, 6);
  rank.host_copy = HostCopyRates{to_gpu, from_gpu, alone};
  return rank;
}

/// Makes four GPUs whose copies share the host's memory: the slower the more of them copy.
Machine sharing_memory() {
  return machine_of(
      {copying(43.6, 34.8, CopyRates{55.0, 54.0}), copying(44.7, 34.9, CopyRates{53.0, 55.5}),
       copying(44.8, 35.0, CopyRates{52.0, 51.0}), copying(44.6, 34.9, CopyRates{55.1, 55.2})});
}

double host_limit(const Machine& machine, const std::string& name) {
  const auto limit = limit_of(machine, parse_case_name(name), Path::host_memory);
  return limit ? limit->gb_per_s : -1.0;
}

TEST(Limit, OfNvlinkIsThePayloadOfTheSlowestRank) {
  const Machine machine = machine_of({rank_with(18, 26.5625, 6), rank_with(17, 26.5625, 6)});
  const auto limit = limit_of(machine, kAllReduce, Path::nvlink);
  ASSERT_TRUE(limit);
  EXPECT_NEAR(limit->gb_per_s, 17 * 25.0, 1e-9);
  EXPECT_EQ(limit->kind, LimitKind::nvlink_payload);
}

TEST(Limit, IsNoneOfLinksWithoutARate) {
  const Machine machine = machine_of({rank_with(18, 26.5625, 6), rank_with(18, 0.0, 6)});
  EXPECT_FALSE(limit_of(machine, kAllReduce, Path::nvlink));
}

TEST(Limit, OfLinksThatDifferIsTheirSum) {
  RankInfo slow = rank_with(18, 13.28125, 6);
  slow.gpu->nvlink_total_gb_per_s = 17 * 26.5625 + 13.28125;
  EXPECT_TRUE(has_unequal_nvlinks(*slow.gpu));
  const Machine machine = machine_of({rank_with(18, 26.5625, 6), slow});
  EXPECT_NEAR(limit_of(machine, kAllReduce, Path::nvlink).value().gb_per_s, 17.5 * 25.0, 1e-9);
}

TEST(Limit, OfOlderRecordsIsThatOfAlikeLinks) {
  const RankInfo old = rank_with(18, 26.5625, 6);
  ASSERT_FALSE(old.gpu->nvlink_total_gb_per_s);
  EXPECT_FALSE(has_unequal_nvlinks(*old.gpu));
  EXPECT_DOUBLE_EQ(nvlink_total(*old.gpu).value(), 18 * 26.5625);
}

TEST(Limit, OfNvlinkIsThatOfTheRanksThatTheBytesPass) {
  const Machine machine =
      machine_of({rank_with(18, 26.5625, 6), rank_with(18, 26.5625, 6), rank_with(9, 26.5625, 6)});
  const auto limit = [&](const char* name) {
    return limit_of(machine, parse_case_name(name), Path::nvlink).value().gb_per_s;
  };
  EXPECT_NEAR(limit("copy_push/1GiB/np3/pair=0-1"), 450.0, 1e-9);
  EXPECT_NEAR(limit("copy_push/1GiB/np3/pair=2-1"), 225.0, 1e-9);
  EXPECT_NEAR(limit("all_to_one/1GiB/np3/root=1"), 450.0, 1e-9);
  EXPECT_NEAR(limit("send_recv/float32/1GiB/np3"), 225.0, 1e-9);
}

TEST(Limit, IsTheRateWhereThePayloadsShareIsNotKnown) {
  const auto limit = limit_of(machine_of({rank_with(4, 14.0625, 5)}), kAllReduce, Path::nvlink);
  ASSERT_TRUE(limit);
  EXPECT_DOUBLE_EQ(limit->gb_per_s, 56.25);
  EXPECT_EQ(limit->kind, LimitKind::nvlink_rate);
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
    EXPECT_FALSE(limit_of(machine_of({known, rank}), kAllReduce, Path::nvlink));
  }
  EXPECT_FALSE(limit_of(machine_of({}), kAllReduce, Path::nvlink));
  EXPECT_FALSE(limit_of(machine_of({known, known}), kAllReduce, Path::host_memory));
  EXPECT_FALSE(limit_of(machine_of({known, known}), kAllReduce, Path::unknown));
  Case pair = kAllReduce;
  pair.operation = OperationKind::copy_push;
  pair.pair = Pair{0, 1};
  EXPECT_FALSE(limit_of(machine_of({known}), pair, Path::nvlink)) << "half of a pair";
}

TEST(Limit, OfOtherPathsIsTheSlowerDirectionOfTheHostCopyAtOnce) {
  const RankInfo first = copying(55.4, 55.3, CopyRates{90.0, 90.0});
  RankInfo second = copying(27.5, 28.0, CopyRates{90.0, 90.0});
  for (const Path path : {Path::pcie_p2p, Path::host_memory, Path::mixed, Path::network}) {
    const auto limit = limit_of(machine_of({first, second}), kAllReduce, path);
    ASSERT_TRUE(limit);
    EXPECT_DOUBLE_EQ(limit->gb_per_s, 27.5);
    EXPECT_EQ(limit->kind, LimitKind::copy_at_once);
  }
  EXPECT_DOUBLE_EQ(limit_of(machine_of({first}), kAllReduce, Path::host_memory)->gb_per_s, 55.3);
  second.host = "another";
  EXPECT_FALSE(limit_of(machine_of({first, second}), kAllReduce, Path::network))
      << "of adapters nothing is known";
  second.host = first.host;
  second.host_copy.reset();
  EXPECT_FALSE(limit_of(machine_of({first, second}), kAllReduce, Path::host_memory));
}

TEST(Limit, OfAPairIsThatOfItsRanksAlone) {
  const Machine machine = sharing_memory();
  const auto limit =
      limit_of(machine, parse_case_name("copy_push/1GiB/np4/pair=0-1"), Path::host_memory);
  ASSERT_TRUE(limit);
  EXPECT_EQ(limit->kind, LimitKind::copy_alone);
  EXPECT_DOUBLE_EQ(limit->gb_per_s, 53.0) << "into the GPU of rank 1";
  EXPECT_DOUBLE_EQ(host_limit(machine, "copy_pull/1GiB/np4/pair=1-0"), 55.0);
  EXPECT_DOUBLE_EQ(host_limit(machine, "copy_push/1GiB/np4/pair=0-3/both"), 54.0);
  EXPECT_DOUBLE_EQ(host_limit(machine, "send_recv/float32/1GiB/np4/pair=2-3"), 51.0);
}

TEST(Limit, OfARootThatExchangesOtherDataWithEachIsItsOwnAlone) {
  const Machine machine = sharing_memory();
  EXPECT_DOUBLE_EQ(host_limit(machine, "gather/float32/1GiB/np4"), 55.0);
  EXPECT_DOUBLE_EQ(host_limit(machine, "scatter/float32/1GiB/np4"), 54.0);
  EXPECT_DOUBLE_EQ(host_limit(machine, "all_to_one/1GiB/np4/root=2"), 52.0);
  EXPECT_DOUBLE_EQ(host_limit(machine, "one_to_all/1GiB/np4/root=2"), 51.0);
}

TEST(Limit, OfAllRanksStaysTheOneMeasuredAtOnce) {
  for (const char* name :
       {"all_reduce/float32/sum/1GiB/np4", "send_recv/float32/1GiB/np4", "copy_push/1GiB/np4",
        "broadcast/float32/1GiB/np4", "alltoall/float32/1GiB/np4", "device_to_host/1GiB/np4"}) {
    EXPECT_DOUBLE_EQ(host_limit(sharing_memory(), name), 34.8) << name;
  }
  EXPECT_DOUBLE_EQ(host_limit(sharing_memory(), "host_to_device/1GiB/np4"), 43.6)
      << "nothing goes the other way";
}

TEST(Limit, OfAPairNeverMeasuredAloneIsKnownOnlyWhereThereAreNoOthers) {
  const RankInfo older = copying(50.9, 44.3);
  const std::string pair = "/pair=0-1";
  EXPECT_DOUBLE_EQ(host_limit(machine_of({older, older}), "copy_push/1GiB/np2" + pair), 44.3);
  EXPECT_DOUBLE_EQ(host_limit(machine_of({older, older}), "gather/float32/1GiB/np2"), 50.9);
  Machine four = sharing_memory();
  four.ranks[1].host_copy->alone.reset();
  EXPECT_EQ(host_limit(four, "copy_push/1GiB/np4" + pair), -1.0);
  EXPECT_DOUBLE_EQ(host_limit(four, "copy_push/1GiB/np4/pair=2-3"), 51.0);
  EXPECT_DOUBLE_EQ(host_limit(four, "copy_push/1GiB/np4"), 34.8);
}

TEST(LimitKind, IsReadByItsName) {
  using enum LimitKind;
  for (const LimitKind kind :
       {unknown, nvlink_payload, nvlink_rate, copy_at_once, copy_alone, copy}) {
    EXPECT_EQ(from_name<LimitKind>(name_of(kind)), kind) << name_of(kind);
  }
  EXPECT_EQ(from_name<LimitKind>(""), unknown);
  EXPECT_EQ(from_name<LimitKind>("pinned host copy"), copy) << "as older records have it";
  EXPECT_THROW(from_name<LimitKind>("patience"), UsageError);
}

TEST(NoteLimit, GivesTheShareOfABandwidthWhereLinksAreFilled) {
  const Machine machine = machine_of({rank_with(18, 26.5625, 6), rank_with(18, 26.5625, 6)});
  VariantResult variant;
  variant.path = Path::nvlink;
  variant.busbw = 225.0;
  note_limit(variant, kAllReduce, machine);
  ASSERT_TRUE(variant.fraction_of_limit);
  EXPECT_NEAR(*variant.fraction_of_limit, 0.5, 1e-12);
  EXPECT_EQ(variant.limit, LimitKind::nvlink_payload);
  VariantResult one_by_one = variant;
  note_limit(one_by_one, parse_case_name("ping_pong/float32/4KiB/np2/pair=0-1"), machine);
  EXPECT_FALSE(one_by_one.fraction_of_limit) << "one message after the other";
  EXPECT_EQ(one_by_one.limit, LimitKind::unknown);
  variant.busbw.reset();
  note_limit(variant, kAllReduce, machine);
  EXPECT_FALSE(variant.fraction_of_limit);
  EXPECT_EQ(variant.limit, LimitKind::unknown);
}

TEST(ShownFraction, IsAbsentWhereTheRateOfAllAtOnceIsNoLimit) {
  VariantResult variant;
  const auto shown = [&](const char* name, double fraction, LimitKind limit) {
    variant.fraction_of_limit = fraction;
    variant.limit = limit;
    return shown_fraction(parse_case_name(name), variant);
  };
  for (const LimitKind older : {LimitKind::copy, LimitKind::copy_at_once}) {
    EXPECT_FALSE(shown("copy_push/1GiB/np4/pair=0-1", 1.47, older));
    EXPECT_FALSE(shown("copy_push/1GiB/np4/pair=0-1", 0.98, older)) << "of no limit either";
    EXPECT_FALSE(shown("copy_push/1GiB/np2/pair=0-1", 1.24, older));
    EXPECT_EQ(shown("copy_push/1GiB/np2/pair=0-1", 0.93, older), 0.93);
    EXPECT_EQ(shown("all_reduce/float32/sum/1GiB/np4", 1.01, older), 1.01);
  }
  EXPECT_EQ(shown("copy_push/1GiB/np4/pair=0-1", 0.93, LimitKind::copy_alone), 0.93);
  EXPECT_EQ(shown("copy_push/1GiB/np4/pair=0-1", 0.88, LimitKind::nvlink_payload), 0.88);
  variant.fraction_of_limit.reset();
  EXPECT_FALSE(shown_fraction(kAllReduce, variant));
}

}  // namespace
}  // namespace linkgain::test

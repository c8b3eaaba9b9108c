#include "linkgain/summary/pair_matrix.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/pair_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::DoubleNear;
using ::testing::IsEmpty;
using ::testing::Optional;
using ::testing::SizeIs;

std::vector<std::string> labels_of(const std::vector<WeakestPair>& pairs) {
  std::vector<std::string> labels;
  for (const WeakestPair& pair : pairs) labels.push_back(pair.label);
  return labels;
}

/// Gives the cases of one kind, of those that the record has in their order.
PairFamily family_of(const Record& record, std::size_t kind = 0) {
  std::vector<Case> kinds;
  PairFamily family;
  for (const CaseResult& result : record.cases) {
    Case definition = result.definition;
    definition.pair = Pair{0, 1, definition.pair->both};
    const auto place = std::ranges::find(kinds, definition) - kinds.begin();
    if (place == std::ssize(kinds)) kinds.push_back(definition);
    if (place == static_cast<std::ptrdiff_t>(kind)) family.cases.push_back(&result);
  }
  return family;
}

TEST(PairMatrices, HaveOneOfEachVariantWithTheLabelOfEveryPair) {
  const Record record = four_gpus_record();
  const PairFamily family = family_of(record);
  const std::vector<PairMatrix> matrices = pair_matrices(record, family);
  ASSERT_THAT(matrices, SizeIs(2));
  EXPECT_EQ(matrices[0].variant, "p2p");
  EXPECT_EQ(matrices[1].variant, "host");
  EXPECT_EQ(matrices[0].ranks, 4);
  EXPECT_TRUE(matrices[0].by_bandwidth);
  EXPECT_EQ(matrices[0].at(0, 1).label, "NV4");
  EXPECT_EQ(matrices[0].at(1, 0).label, "NV4");
  EXPECT_EQ(matrices[0].at(3, 1).label, "PHB");
  EXPECT_EQ(matrices[0].at(1, 2).label, "SYS");
  EXPECT_EQ(matrices[0].at(2, 2).label, "");
  EXPECT_EQ(matrices[0].at(2, 2).state, PairState::not_asked);
  EXPECT_THROW(matrices[0].at(4, 0), std::out_of_range);
}

TEST(PairMatrices, HoldTheCasesResultAndItsRatio) {
  const Record record = four_gpus_record();
  const std::vector<PairMatrix> matrices = pair_matrices(record, family_of(record));
  const CaseResult& result = record.cases[0];
  EXPECT_EQ(matrices[0].at(0, 1).result, &result.variants[0]);
  EXPECT_EQ(matrices[0].at(0, 1).ratio, nullptr);
  EXPECT_EQ(matrices[1].at(0, 1).result, &result.variants[1]);
  EXPECT_EQ(matrices[1].at(0, 1).ratio, &result.ratios[0].ratio);
  EXPECT_EQ(matrices[0].value(matrices[0].at(0, 1)), result.variants[0].busbw);
}

TEST(PairMatrices, OfBothWaysAreSymmetric) {
  const Record record = four_gpus_record();
  const PairMatrix matrix = pair_matrices(record, family_of(record, 1))[0];
  EXPECT_NE(matrix.at(0, 3).result, nullptr);
  EXPECT_EQ(matrix.at(0, 3).result, matrix.at(3, 0).result);
}

TEST(PairMatrices, SayWhyAnEntryIsAbsent) {
  const Record record = troubled_pairs_record();
  const std::vector<PairMatrix> matrices = pair_matrices(record, family_of(record));
  EXPECT_EQ(matrices[0].at(1, 0).state, PairState::wrong_data);
  EXPECT_EQ(matrices[1].at(1, 0).state, PairState::measured);
  EXPECT_EQ(matrices[1].at(2, 0).state, PairState::skipped);
  EXPECT_EQ(matrices[0].at(3, 2).state, PairState::not_measured);
  EXPECT_EQ(matrices[1].at(3, 2).state, PairState::not_measured);
  EXPECT_EQ(matrices[0].at(0, 3).state, PairState::not_asked);
  for (const auto& [from, to] : {std::pair{1, 0}, {3, 2}, {0, 3}}) {
    EXPECT_EQ(matrices[0].value(matrices[0].at(from, to)), std::nullopt);
  }
}

TEST(PairMatrices, GoByTimeBelowOneMebibyteAndWhereThereIsNoBandwidth) {
  const auto by_bandwidth = [](std::int64_t bytes, bool known) {
    Record record = four_gpus();
    add_pairs(record, bytes, false);
    if (!known) record.cases[3].variants[0].busbw.reset();
    return pair_matrices(record, family_of(record))[0].by_bandwidth;
  };
  EXPECT_TRUE(by_bandwidth(1 << 20, true));
  EXPECT_FALSE(by_bandwidth((1 << 20) - 4, true));
  EXPECT_FALSE(by_bandwidth(1 << 20, false));
}

TEST(PairMatrices, HaveNoLabelsWhereTheRecordNamesNoLinks) {
  Record record = four_gpus_record();
  record.machine.links.clear();
  EXPECT_EQ(pair_matrices(record, family_of(record))[0].at(0, 1).label, "");
}

TEST(WeakestPairs, AreFoundForEveryLabelTheWeakestFirst) {
  const Record record = four_gpus_record();
  const PairFamily family = family_of(record);
  const PairMatrix matrix = pair_matrices(record, family)[0];
  const std::vector<WeakestPair> weakest = weakest_pairs(matrix, family);
  EXPECT_THAT(labels_of(weakest), ::testing::ElementsAre("SYS", "PHB", "NV4"));
  // The SYS pairs are 0-3, 3-0, 1-2 and 2-1: those with GPU 3 are slower.
  EXPECT_EQ(weakest[0].from, 0);
  EXPECT_EQ(weakest[0].to, 3);
  EXPECT_EQ(weakest[0].others, 3);
  EXPECT_EQ(weakest[0].median, matrix.at(1, 2).result->busbw);
  // The bridge of 2 and 3, both ways alike, is compared with the others: 3-2, 0-1, 1-0.
  EXPECT_EQ(weakest[2].from, 2);
  EXPECT_EQ(weakest[2].to, 3);
  EXPECT_THAT(weakest[2].median, Optional(matrix.at(0, 1).result->busbw.value()));
  EXPECT_THAT(weakest[2].shortfall(true), Optional(DoubleNear(1.0 - 1.0 / 1.5, 0.01)));
}

TEST(WeakestPairs, CountAPairOnceWhereItGoesBothWays) {
  const Record record = four_gpus_record();
  const PairFamily family = family_of(record, 1);
  const std::vector<WeakestPair> weakest = weakest_pairs(pair_matrices(record, family)[0], family);
  ASSERT_THAT(weakest, SizeIs(3));
  for (const WeakestPair& pair : weakest) EXPECT_EQ(pair.others, 1);
}

TEST(WeakestPairs, TakeLongestWhereTheSizeIsSmall) {
  const Record record = troubled_pairs_record();
  const PairFamily family = family_of(record, 1);
  const PairMatrix matrix = pair_matrices(record, family)[1];
  const WeakestPair weakest = weakest_pairs(matrix, family).at(0);
  EXPECT_EQ(weakest.value, matrix.at(weakest.from, weakest.to).result->time->value);
  for (const PairEntry& entry : matrix.entries) {
    EXPECT_LE(matrix.value(entry).value_or(0.0), weakest.value);
  }
  EXPECT_GT(weakest.shortfall(false), 0.0);
}

TEST(WeakestPairs, AreComparedWithNothingWithoutAnotherOfTheirLabel) {
  Record record = four_gpus();
  record.cases = {bridged_case(message(1 << 20, 4, {0, 1})),
                  bridged_case(message(1 << 20, 4, {0, 2}))};
  const PairFamily family = family_of(record);
  const std::vector<WeakestPair> weakest = weakest_pairs(pair_matrices(record, family)[0], family);
  EXPECT_THAT(labels_of(weakest), ::testing::ElementsAre("PHB", "NV4"));
  EXPECT_EQ(weakest[0].shortfall(true), std::nullopt);
  EXPECT_EQ(weakest[0].others, 0);
}

TEST(WeakestPairs, NeedTwoPairs) {
  Record record = four_gpus();
  record.cases = {bridged_case(message(1 << 20, 4, {0, 1}))};
  const PairFamily family = family_of(record);
  EXPECT_THAT(weakest_pairs(pair_matrices(record, family)[0], family), IsEmpty());
}

}  // namespace
}  // namespace linkgain::test

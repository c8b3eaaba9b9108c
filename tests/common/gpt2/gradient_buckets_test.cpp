#include "linkgain/gpt2/gradient_buckets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "linkgain/base/errors.hpp"

namespace linkgain::test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

const ParameterTable& gpt2() {
  static const ParameterTable table(gpt2_config(ModelSize::gpt2));
  return table;
}

std::vector<std::int64_t> bytes_of(const std::vector<GradientBucket>& buckets, DataType type) {
  std::vector<std::int64_t> sizes;
  for (const GradientBucket& bucket : buckets) sizes.push_back(bucket.range.count * size_of(type));
  return sizes;
}

std::vector<std::int64_t> bytes_of(const BucketSettings& settings) {
  return bytes_of(gradient_buckets(gpt2(), settings, DataType::float32), DataType::float32);
}

double mebibytes(std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

/// Every tensor is in one bucket and all elements are covered.
void expect_complete(const std::vector<GradientBucket>& buckets, const ParameterTable& table) {
  std::vector<int> tensors;
  std::int64_t count = 0;
  for (const GradientBucket& bucket : buckets) {
    tensors.insert(tensors.end(), bucket.tensors.begin(), bucket.tensors.end());
    count += bucket.range.count;
  }
  std::ranges::sort(tensors);
  ASSERT_EQ(tensors.size(), table.tensors().size());
  for (std::size_t i = 0; i < tensors.size(); ++i) EXPECT_EQ(tensors[i], static_cast<int>(i));
  EXPECT_EQ(count, table.count());
}

TEST(GradientBuckets, AreThoseOfPyTorch) {
  const std::vector<std::int64_t> sizes = bytes_of(BucketSettings{});
  ASSERT_EQ(sizes.size(), 13U);
  EXPECT_THAT(mebibytes(sizes.front()), DoubleNear(9.01, 0.005));
  for (std::size_t i = 1; i < 12; ++i) {
    EXPECT_THAT(mebibytes(sizes[i]), DoubleNear(27.04, 0.005)) << i;
  }
  EXPECT_THAT(mebibytes(sizes.back()), DoubleNear(168.27, 0.005));
}

TEST(GradientBuckets, LegacyOnesAreThoseOfTheTimeOfThePage) {
  const std::vector<std::int64_t> sizes = bytes_of({BucketRule::legacy, {}});
  ASSERT_EQ(sizes.size(), 14U);
  EXPECT_EQ(sizes.front(), 9216);
  EXPECT_THAT(mebibytes(sizes.back()), DoubleNear(147.24, 0.005));
  const auto buckets = gradient_buckets(gpt2(), {BucketRule::legacy, {}}, DataType::float32);
  EXPECT_THAT(buckets.back().tensors, ElementsAre(0));
  // Within a bucket the order of definition stays.
  EXPECT_THAT(buckets.front().tensors, ElementsAre(145, 146, 147));
}

TEST(GradientBuckets, HoldEveryTensorOnce) {
  for (const BucketRule rule : kBucketRules) {
    for (const std::int64_t limit : {1, 1 << 20, 3 << 20, 25 << 20, 100 << 20, 1 << 30}) {
      const BucketSettings settings{rule, Bytes{limit}};
      expect_complete(gradient_buckets(gpt2(), settings, DataType::float32), gpt2());
    }
  }
  const ParameterTable tiny(gpt2_config(ModelSize::tiny));
  expect_complete(gradient_buckets(tiny, {}, DataType::float64), tiny);
}

TEST(GradientBuckets, DivideBetweenTwoFourAndEightRanks) {
  for (const GradientBucket& bucket : gradient_buckets(gpt2(), {}, DataType::float32)) {
    for (const int ranks : {2, 4, 8})
      EXPECT_EQ(shard_of(bucket.range, 0, ranks).count * ranks, bucket.range.count);
  }
}

TEST(GradientBuckets, CloseWithTheTensorThatReachesTheLimit) {
  // A limit that is given holds for the first bucket too; the first tensors are 768, 768, 768 and
  // 3072 * 768 numbers.
  const auto exactly = bytes_of({BucketRule::current, Bytes{2 * 768 * 4}});
  EXPECT_EQ(exactly.front(), 2 * 768 * 4);
  const auto more = bytes_of({BucketRule::current, Bytes{2 * 768 * 4 + 1}});
  EXPECT_EQ(more.front(), 3 * 768 * 4);
  EXPECT_EQ(bytes_of({BucketRule::current, Bytes{1}}).size(), 148U);
  EXPECT_EQ(bytes_of({BucketRule::current, Bytes{1 << 30}}).size(), 1U);
  // Half the bytes per element, twice the elements per bucket.
  const auto half = gradient_buckets(gpt2(), {}, DataType::bfloat16);
  EXPECT_EQ(half.size(), 7U);
}

TEST(GradientBuckets, OfTheLegacyRuleKeepTheirFirstLimit) {
  const auto sizes = bytes_of({BucketRule::legacy, Bytes{1 << 30}});
  ASSERT_EQ(sizes.size(), 2U);
  EXPECT_EQ(sizes.back(), std::int64_t{50257} * 768 * 4);
}

TEST(GradientBuckets, RefuseALimitOfNothing) {
  EXPECT_THROW(bytes_of({BucketRule::current, Bytes{0}}), UsageError);
}

}  // namespace
}  // namespace linkgain::test

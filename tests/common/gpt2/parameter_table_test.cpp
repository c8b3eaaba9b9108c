#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/gpt2/gpt2_config.hpp"
#include "linkgain/gpt2/training_parameters.hpp"
#include "linkgain/gpt2/training_strategy.hpp"

namespace linkgain::test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

TEST(Gpt2Config, PadsTheVocabulary) {
  EXPECT_EQ(padded_vocabulary(gpt2_config(ModelSize::gpt2)), 50304);
  EXPECT_EQ(padded_vocabulary(gpt2_config(ModelSize::tiny)), 192);
  EXPECT_EQ(padded_vocabulary({.vocabulary = 128}), 128);
}

TEST(Validate, RefusesWhatDoesNotFit) {
  const Gpt2Config tiny = gpt2_config(ModelSize::tiny);
  EXPECT_NO_THROW(validate(tiny, {1, 32}));
  EXPECT_THROW(validate(tiny, {0, 32}), UsageError);
  EXPECT_THROW(validate(tiny, {1, 0}), UsageError);
  EXPECT_THROW(validate(tiny, {1, 33}), UsageError);
  Gpt2Config odd = tiny;
  odd.heads = 3;
  EXPECT_THROW(validate(odd, {1, 32}), UsageError);
  for (int Gpt2Config::*const each :
       {&Gpt2Config::vocabulary, &Gpt2Config::positions, &Gpt2Config::channels, &Gpt2Config::layers,
        &Gpt2Config::heads}) {
    Gpt2Config none = tiny;
    none.*each = 0;
    EXPECT_THROW(validate(none, {1, 1}), UsageError);
  }
}

const ParameterTable& gpt2_table() {
  static const ParameterTable table(gpt2_config(ModelSize::gpt2));
  return table;
}

TEST(ParameterTable, HasTheTensorsOfGpt2) {
  EXPECT_EQ(gpt2_table().tensors().size(), 148U);
  EXPECT_EQ(gpt2_table().count(), 124'439'808);
  EXPECT_EQ(gpt2_table().segments(), 14);
  for (int block = 1; block <= 12; ++block) {
    EXPECT_EQ(gpt2_table().segment_range(block).count * 4, 28'351'488) << block;
  }
  EXPECT_EQ(gpt2_table().segment_range(0), (ParameterRange{0, (50257 + 1024) * 768}));
  EXPECT_EQ(gpt2_table().segment_range(13), (ParameterRange{124'439'808 - 2 * 768, 2 * 768}));
}

TEST(ParameterTable, HasAsManyParametersAsCasesAreSizedBy) {
  for (const ModelSize size : kValues<ModelSize>) {
    EXPECT_EQ(ParameterTable(gpt2_config(size)).count(), parameter_count(size)) << name_of(size);
  }
}

TEST(ParameterTable, HasPyTorchsNamesInItsOrder) {
  EXPECT_EQ(gpt2_table().tensors()[0].name, "transformer.wte.weight");
  EXPECT_EQ(gpt2_table().tensors()[1].name, "transformer.wpe.weight");
  EXPECT_EQ(gpt2_table().tensors()[2].name, "transformer.h.0.ln_1.weight");
  EXPECT_EQ(gpt2_table().tensors()[4].name, "transformer.h.0.attn.c_attn.weight");
  EXPECT_EQ(gpt2_table().tensors()[145].name, "transformer.h.11.mlp.c_proj.bias");
  EXPECT_EQ(gpt2_table().tensors()[147].name, "transformer.ln_f.bias");
  std::set<std::string> names;
  for (const ParameterTensor& tensor : gpt2_table().tensors()) names.insert(tensor.name);
  EXPECT_EQ(names.size(), 148U);
}

TEST(ParameterTable, LeavesNoGapsAndDividesBetweenTwoFourAndEight) {
  std::int64_t end = 0;
  for (const ParameterTensor& tensor : gpt2_table().tensors()) {
    EXPECT_EQ(tensor.offset, end);
    EXPECT_EQ(tensor.count() % 8, 0) << tensor.name;
    end = tensor.range().end();
  }
}

TEST(ParameterTable, FindsTensorsByKindAndBlock) {
  for (std::size_t i = 0; i < gpt2_table().tensors().size(); ++i) {
    const ParameterTensor& tensor = gpt2_table().tensors()[i];
    EXPECT_EQ(gpt2_table().index_of(tensor.kind, tensor.segment - 1), static_cast<int>(i));
  }
  const ParameterTensor& tensor = gpt2_table().tensor(TensorKind::contraction_weight, 3);
  EXPECT_EQ(tensor.name, "transformer.h.3.mlp.c_proj.weight");
  EXPECT_EQ(tensor.rows, 3072);
  EXPECT_EQ(tensor.columns, 768);
}

TEST(ParameterTable, SegmentsCoverAllParameters) {
  std::int64_t end = 0;
  for (int segment = 0; segment < gpt2_table().segments(); ++segment) {
    EXPECT_EQ(gpt2_table().segment_range(segment).offset, end);
    end = gpt2_table().segment_range(segment).end();
  }
  EXPECT_EQ(end, gpt2_table().count());
}

TEST(ParameterTable, TheTokenEmbeddingIsReadAtBothEndsAndReadyLast) {
  for (int segment = 0; segment < 14; ++segment) {
    EXPECT_EQ(gpt2_table().reads_token_embedding(segment), segment == 0 || segment == 13);
  }
  ASSERT_EQ(gpt2_table().ready_order().size(), 148U);
  EXPECT_EQ(gpt2_table().ready_order().front(), 147);
  EXPECT_EQ(gpt2_table().ready_order().back(), 0);
  EXPECT_EQ(gpt2_table().tensors()[0].kind, TensorKind::token_embedding);
}

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

/// Expects every tensor in one bucket and all elements covered.
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
  for (const BucketRule rule : kValues<BucketRule>) {
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

TEST(ShardOf, DividesOrRefuses) {
  EXPECT_EQ(shard_of({100, 40}, 1, 4), (ParameterRange{110, 10}));
  EXPECT_EQ(shard_of({100, 40}, 3, 4).end(), 140);
  EXPECT_THROW(shard_of({100, 40}, 0, 3), UsageError);
}

TEST(FlatMemory, CountsInElementsOfItsType) {
  std::array<double, 4> values{};
  const FlatMemory memory{values.data(), DataType::float64, 4};
  EXPECT_EQ(memory.at(3), &values[3]);
  EXPECT_EQ(memory.bytes_of({1, 3}), Bytes{24});
  const FlatMemory halves{values.data(), DataType::bfloat16, 16};
  EXPECT_EQ(halves.at(12), &values[3]);
  EXPECT_EQ(halves.bytes_of({1, 3}), Bytes{6});
}

TEST(FlatMemory, KnowsWhatItHas) {
  const FlatMemory memory{nullptr, DataType::float32, 4};
  for (const ParameterRange& range : {ParameterRange{0, 4}, {4, 0}, {3, 1}}) {
    EXPECT_TRUE(memory.has(range)) << range.offset;
    EXPECT_NO_THROW(memory.require(range)) << range.offset;
  }
  for (const ParameterRange& range : {ParameterRange{1, 4}, {-1, 2}, {2, -1}, {5, 0}}) {
    EXPECT_FALSE(memory.has(range)) << range.offset;
    EXPECT_THROW(memory.require(range), std::logic_error) << range.offset;
  }
}

}  // namespace
}  // namespace linkgain::test

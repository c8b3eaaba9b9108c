#include "linkgain/gpt2/flat_memory.hpp"

#include <gtest/gtest.h>

#include <array>
#include <stdexcept>

#include "linkgain/base/errors.hpp"

namespace linkgain::test {
namespace {

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

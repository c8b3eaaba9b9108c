#include "linkgain/core/flat_memory.hpp"

#include <gtest/gtest.h>

#include <array>

#include "linkgain/core/errors.hpp"

namespace linkgain {
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
  EXPECT_TRUE(memory.has({0, 4}));
  EXPECT_TRUE(memory.has({4, 0}));
  EXPECT_FALSE(memory.has({1, 4}));
  EXPECT_FALSE(memory.has({-1, 2}));
  EXPECT_FALSE(memory.has({2, -1}));
}

}  // namespace
}  // namespace linkgain

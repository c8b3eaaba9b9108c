#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/verify/number_format.hpp"
#include "kernels/verify/pattern.hpp"
#include "number_format.hpp"

namespace linkgain::kernels {

inline constexpr std::uint32_t kSeed = 20240229;
inline constexpr int kMostRanks = 8;
// Indices on both sides of 2^32, where the index no longer fits one word of the hash.
inline const std::vector<std::int64_t> kStarts{0, (std::int64_t{1} << 32) - 50,
                                               std::int64_t{5} << 40};

inline std::string describe(const Pattern& pattern) {
  return "type " + std::to_string(static_cast<int>(pattern.type)) + ", reduction " +
         std::to_string(static_cast<int>(pattern.reduction)) + ", ranks " +
         std::to_string(pattern.ranks);
}

template <typename Visit>
void for_each_pattern(int fewest_ranks, int most_ranks, Visit visit) {
  for (const ElementType type : kAllTypes) {
    for (const ReductionKind reduction : kAllReductions) {
      for (int ranks = fewest_ranks; ranks <= most_ranks; ++ranks) {
        const Pattern pattern = make_pattern(type, reduction, ranks, kSeed);
        SCOPED_TRACE(describe(pattern));
        visit(pattern);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

template <typename Visit>
void for_each_index(std::int64_t count, Visit visit) {
  for (const std::int64_t start : kStarts) {
    for (std::int64_t index = start; index < start + count; ++index) {
      visit(index);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

template <typename Value>
std::vector<Value> inputs_at(const Pattern& pattern, std::int64_t index) {
  std::vector<Value> inputs;
  for (int rank = 0; rank < pattern.ranks; ++rank) {
    inputs.push_back(static_cast<Value>(input_value(pattern.seed, rank, index, pattern.range)));
  }
  return inputs;
}

/// Returns what of the inputs is combined: with mulsum each times its rank's factor.
template <typename Value>
std::vector<Value> operands_at(const Pattern& pattern, std::int64_t index) {
  std::vector<Value> operands = inputs_at<Value>(pattern, index);
  if (pattern.reduction != ReductionKind::mulsum) return operands;
  for (int rank = 0; rank < pattern.ranks; ++rank) {
    operands[static_cast<std::size_t>(rank)] *= static_cast<Value>(factor_of(rank));
  }
  return operands;
}

inline bool is_floating(const Pattern& pattern) { return !traits_of(pattern.type).is_integer; }

}  // namespace linkgain::kernels

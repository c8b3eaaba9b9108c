#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/common/element.hpp"

namespace linkgain::kernels {

/// Of a rank's own factor of mulsum.
inline constexpr std::int32_t kLargestFactor = 2;

/// Which integers the ranks put in.
struct InputRange {
  std::int32_t low;
  std::uint32_t count;  ///< low … low + count - 1 are equally likely
  bool skips_zero;      ///< zero and what is above move up by one
  int ranks;
  /// At each index this many ranks, another choice at each, take from the range; the others put in
  /// `idle`, which leaves the result as it is. Fewer than `ranks` only where a narrow type could
  /// not hold the result otherwise.
  int contributors;
  std::int32_t idle;
};

/// Sums of inputs stay within this: what the significand holds; for 8-bit integers less than the
/// poison's 91; else what 32 bits hold.
constexpr std::int64_t largest_sum(ElementType type) {
  const ElementTraits traits = traits_of(type);
  if (traits.is_integer && traits.bytes == 1) return 90;
  if (traits.is_integer || traits.significand_bits > 31) return INT32_MAX;
  return std::int64_t{1} << traits.significand_bits;
}

/// Inputs stay within this.
constexpr std::int64_t largest_input(ElementType type) {
  const ElementTraits traits = traits_of(type);
  const std::int64_t limit = traits.is_integer && traits.bytes == 1 ? 10 : 1000;
  return limit < largest_sum(type) ? limit : largest_sum(type);
}

/// Whether a type's average over `ranks` ranks rounds. Dividing by a power of two does not, and
/// integer types divide the exact sum.
constexpr bool average_rounds(ElementType type, int ranks) {
  const bool power_of_two = (ranks & (ranks - 1)) == 0;
  return !traits_of(type).is_integer && !power_of_two;
}

/// Allowed error, relative to the expected value, of an average that rounds.
///
/// It is computed as the sum of v * (1/n) (NCCL's floating types), or as the sum divided by n or
/// multiplied with 1/n. With u = 2^-p for p significand bits and m ranks that do not put in zero,
/// the rounded 1/n, each product and each of the m - 1 additions are off by a factor of at most
/// 1 + u; nothing is negative, so nothing cancels: (1 + u)^(m + 1) - 1. The expected value's own
/// rounding, to float32 or for float64 to float64, comes on top. Underflow is left out: it needs
/// more than 64 ranks with float8e4m3.
inline double average_error(ElementType type, int contributors) {
  const double unit_roundoff = std::ldexp(1.0, -traits_of(type).significand_bits);
  const double expected_roundoff = std::ldexp(1.0, type == ElementType::float64 ? -53 : -24);
  return std::expm1((contributors + 1) * std::log1p(unit_roundoff)) + expected_roundoff;
}

/// The most ranks whose average is still within half of what is expected: 2 for float8e5m2, 5 for
/// float8e4m3, over 100 for the wider types.
inline int average_contributors(ElementType type, int ranks) {
  constexpr double kLargestError = 0.5;
  int contributors = 1;
  while (contributors < ranks && average_error(type, contributors + 1) <= kLargestError) {
    ++contributors;
  }
  return contributors;
}

/// How low inputs go; as high as the sum of all contributors allows.
enum class LowestInput { minus_highest, zero, one };

/// `factor` is what inputs are multiplied by before, at most.
constexpr InputRange sum_range(ElementType type, int ranks, int contributors, LowestInput lowest,
                               std::int32_t factor = 1) {
  const std::int64_t share = largest_sum(type) / factor / contributors;
  const std::int64_t limit = largest_input(type);
  const auto high = static_cast<std::int32_t>(share < limit ? share : limit);
  std::int32_t low = lowest == LowestInput::one ? 1 : 0;
  if (lowest == LowestInput::minus_highest) low = -high;
  return {low, static_cast<std::uint32_t>(high - low + 1), false, ranks, contributors, 0};
}

/// The range for `ranks` >= 1. Sums stay within largest_sum(), so that every partial sum is exact.
/// Products are of -1, 1 and 2 with at most eight factors of 2, below float8e4m3's 448. Averages of
/// floating types are of numbers that are not negative, and where they round of positive ones.
inline InputRange input_range(ElementType type, ReductionKind reduction, int ranks) {
  constexpr int kMostFactorsOfTwo = 8;
  const ElementTraits traits = traits_of(type);
  const LowestInput lowest = traits.is_signed ? LowestInput::minus_highest : LowestInput::zero;
  const std::int32_t factor = reduction == ReductionKind::mulsum ? kLargestFactor : 1;
  const std::int64_t summands = largest_sum(type) / factor;
  const auto most = static_cast<int>(summands < ranks ? summands : ranks);
  switch (reduction) {
    case ReductionKind::sum:
    case ReductionKind::mulsum:
      return sum_range(type, ranks, most, lowest, factor);
    case ReductionKind::avg:
      if (traits.is_integer) return sum_range(type, ranks, most, lowest);
      if (!average_rounds(type, ranks)) return sum_range(type, ranks, most, LowestInput::zero);
      return sum_range(type, ranks, average_contributors(type, most), LowestInput::one);
    case ReductionKind::prod: {
      const int contributors = ranks < kMostFactorsOfTwo ? ranks : kMostFactorsOfTwo;
      if (traits.is_signed) return {-1, 3, true, ranks, contributors, 1};
      return {0, 2, true, ranks, contributors, 1};
    }
    case ReductionKind::min:
    case ReductionKind::max: {
      InputRange range = sum_range(type, ranks, 1, lowest);
      range.contributors = ranks;
      return range;
    }
  }
  return {};
}

/// Allowed |result - expected| / |expected|; 0 where the result must be exact.
inline double relative_error_bound(ElementType type, ReductionKind reduction, int ranks) {
  if (reduction != ReductionKind::avg || !average_rounds(type, ranks)) return 0.0;
  return average_error(type, input_range(type, reduction, ranks).contributors);
}

}  // namespace linkgain::kernels

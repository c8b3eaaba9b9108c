#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/common/element.hpp"
#include "kernels/common/math.hpp"

// Known data for verification. Every rank's input is a function of (seed, rank, index), so a rank
// can compute by itself what any reduction over all ranks, or any other rank's data, must be.
//
// The inputs are small integers, chosen so that a reduction comes out the same in whatever order
// and grouping the ranks are reduced. Only the average of floating types over a number of ranks
// that is not a power of two is inexact; it has a bound.
//
// No input and no result can be mistaken for memory that still holds kPoisonByte throughout:
//  - as an 8-bit integer it is -91 or 165: sums stay within 90, products are powers of two;
//  - as a wider integer it is beyond 10^9 in size: no result is beyond 2 * 10^6 for up to 1000
//  ranks;
//  - as a floating number it is negative and no integer, whereas sums, products, minima and
//    maxima are integers and averages, their allowed error included, are not negative.

namespace linkgain::kernels {

/// The largest factor of a rank's own in mulsum.
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

/// Returns the bound that sums of inputs stay within: what the significand holds; for 8-bit
/// integers less than the poison's 91; else what 32 bits hold.
constexpr std::int64_t largest_sum(ElementType type) {
  const ElementTraits traits = traits_of(type);
  if (traits.is_integer && traits.bytes == 1) return 90;
  if (traits.is_integer || traits.significand_bits > 31) return INT32_MAX;
  return std::int64_t{1} << traits.significand_bits;
}

/// Returns the bound that inputs stay within.
constexpr std::int64_t largest_input(ElementType type) {
  const ElementTraits traits = traits_of(type);
  const std::int64_t limit = traits.is_integer && traits.bytes == 1 ? 10 : 1000;
  return limit < largest_sum(type) ? limit : largest_sum(type);
}

/// Returns whether a type's average over `ranks` ranks rounds. Dividing by a power of two does not,
/// and integer types divide the exact sum.
constexpr bool average_rounds(ElementType type, int ranks) {
  const bool power_of_two = (ranks & (ranks - 1)) == 0;
  return !traits_of(type).is_integer && !power_of_two;
}

/// Returns the allowed error, relative to the expected value, of an average that rounds.
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

/// Returns the most ranks whose average is still within half of what is expected: 2 for float8e5m2,
/// 5 for float8e4m3, over 100 for the wider types.
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

/// Returns the range of inputs; `factor` is what they are multiplied by before, at most.
constexpr InputRange sum_range(ElementType type, int ranks, int contributors, LowestInput lowest,
                               std::int32_t factor = 1) {
  const std::int64_t share = largest_sum(type) / factor / contributors;
  const std::int64_t limit = largest_input(type);
  const auto high = static_cast<std::int32_t>(share < limit ? share : limit);
  std::int32_t low = lowest == LowestInput::one ? 1 : 0;
  if (lowest == LowestInput::minus_highest) low = -high;
  return {low, static_cast<std::uint32_t>(high - low + 1), false, ranks, contributors, 0};
}

/// Returns the range for `ranks` >= 1. Sums stay within largest_sum(), so that every partial sum is
/// exact. Products are of -1, 1 and 2 with at most eight factors of 2, below float8e4m3's 448.
/// Averages of floating types are of numbers that are not negative, and where they round of
/// positive ones.
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

/// Returns the allowed |result - expected| / |expected|; 0 if the result must be exact.
inline double relative_error_bound(ElementType type, ReductionKind reduction, int ranks) {
  if (reduction != ReductionKind::avg || !average_rounds(type, ranks)) return 0.0;
  return average_error(type, input_range(type, reduction, ranks).contributors);
}

/// What outputs are filled with before a verified operation.
inline constexpr int kPoisonByte = 0xA5;

/// All that is needed to know every rank's input and the result. Made by make_pattern().
struct Pattern {
  ElementType type;
  ReductionKind reduction;
  int ranks;
  std::uint32_t seed;
  InputRange range;
  /// Allowed |result - expected| / |expected|; 0 where the result must be exact.
  double relative_error;
};

/// Makes the pattern for `ranks` >= 1. If data is only moved, take ReductionKind::max: it has the
/// widest range.
inline Pattern make_pattern(ElementType type, ReductionKind reduction, int ranks,
                            std::uint32_t seed) {
  return {type,
          reduction,
          ranks,
          seed,
          input_range(type, reduction, ranks),
          relative_error_bound(type, reduction, ranks)};
}

/// Mixes 32 bits by shift and multiplication (the rounds of MurmurHash3's finaliser without its
/// last shift): the upper bits of the result depend on all bits of `bits`.
LINKGAIN_BOTH constexpr std::uint32_t scramble(std::uint32_t bits) {
  bits ^= bits >> 16;
  bits *= 0x85ebca6bU;
  bits ^= bits >> 13;
  return bits * 0xc2b2ae35U;
}

/// Scales `bits` to 0 … count - 1; uses the upper bits.
LINKGAIN_BOTH constexpr std::uint32_t scale(std::uint32_t bits, std::uint32_t count) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(bits) * count) >> 32);
}

/// Returns the part of the hash that all ranks share; kernels compute it once per element.
LINKGAIN_BOTH constexpr std::uint32_t index_hash(std::uint32_t seed, std::int64_t index) {
  const auto position = static_cast<std::uint64_t>(index);
  const auto lower = static_cast<std::uint32_t>(position);
  const auto upper = static_cast<std::uint32_t>(position >> 32);
  return scramble(lower + upper * 0x9e3779b9U + seed * 0x7feb352dU);
}

/// Returns what `rank` puts in at `index`: counter-based, a second round of scramble() keyed by the
/// rank on top of the first one keyed by seed and index.
LINKGAIN_BOTH constexpr std::int32_t input_value(std::uint32_t seed, int rank, std::int64_t index,
                                                 const InputRange& range) {
  const std::uint32_t shared = index_hash(seed, index);
  if (range.contributors < range.ranks) {
    const auto ranks = static_cast<std::uint32_t>(range.ranks);
    const std::uint32_t place = (scale(shared, ranks) + static_cast<std::uint32_t>(rank)) % ranks;
    if (place >= static_cast<std::uint32_t>(range.contributors)) return range.idle;
  }
  const std::uint32_t bits = scramble(shared + static_cast<std::uint32_t>(rank) * 0x9e3779b9U);
  const std::int32_t value = range.low + static_cast<std::int32_t>(scale(bits, range.count));
  return value + (range.skips_zero && value >= 0 ? 1 : 0);
}

/// Returns what mulsum multiplies a rank's input by: 1 or kLargestFactor, which every type holds.
LINKGAIN_BOTH constexpr std::int32_t factor_of(int rank) {
  return rank % 2 == 0 ? 1 : kLargestFactor;
}

/// Applies `combine` over the inputs of all ranks at `index`.
template <typename Combine>
LINKGAIN_BOTH constexpr std::int32_t fold_inputs(const Pattern& pattern, std::int64_t index,
                                                 Combine combine) {
  std::int32_t result = input_value(pattern.seed, 0, index, pattern.range);
  for (int rank = 1; rank < pattern.ranks; ++rank) {
    result = combine(result, input_value(pattern.seed, rank, index, pattern.range));
  }
  return result;
}

/// Adds up all ranks' inputs at `index`, each times its rank's factor.
LINKGAIN_BOTH constexpr std::int32_t sum_of_products(const Pattern& pattern, std::int64_t index) {
  std::int32_t sum = 0;
  for (int rank = 0; rank < pattern.ranks; ++rank) {
    sum += factor_of(rank) * input_value(pattern.seed, rank, index, pattern.range);
  }
  return sum;
}

/// Reduces all ranks' inputs at `index` without rounding or wrapping; for avg their sum.
LINKGAIN_BOTH constexpr std::int32_t reduced_inputs(const Pattern& pattern, std::int64_t index) {
  using Value = std::int32_t;
  switch (pattern.reduction) {
    case ReductionKind::sum:
    case ReductionKind::avg:
      return fold_inputs(pattern, index, [](Value a, Value b) { return a + b; });
    case ReductionKind::prod:
      return fold_inputs(pattern, index, [](Value a, Value b) { return a * b; });
    case ReductionKind::min:
      return fold_inputs(pattern, index, [](Value a, Value b) { return b < a ? b : a; });
    case ReductionKind::max:
      return fold_inputs(pattern, index, [](Value a, Value b) { return a < b ? b : a; });
    case ReductionKind::mulsum:
      return sum_of_products(pattern, index);
  }
  return 0;
}

/// Converts the result for an integer type modulo 2^bits (two's complement, as NCCL and MPI wrap;
/// only 8-bit products do). An average is the sum divided, truncated to zero.
LINKGAIN_BOTH constexpr std::int64_t expected_integer(const Pattern& pattern, std::int64_t index) {
  const std::int32_t result = reduced_inputs(pattern, index);
  return pattern.reduction == ReductionKind::avg ? result / pattern.ranks : result;
}

/// Returns the result for a floating type. Real is float or double; float64 needs double, the other
/// types are served by either.
template <typename Real>
LINKGAIN_BOTH constexpr Real expected_real(const Pattern& pattern, std::int64_t index) {
  const auto result = static_cast<Real>(reduced_inputs(pattern, index));
  return pattern.reduction == ReductionKind::avg ? result / static_cast<Real>(pattern.ranks)
                                                 : result;
}

/// Returns whether a floating result is right; NaN never is.
template <typename Real>
LINKGAIN_BOTH constexpr bool matches(Real got, Real expected, Real relative_error) {
  const Real error = got < expected ? expected - got : got - expected;
  const Real size = expected < 0 ? -expected : expected;
  return error <= relative_error * size;
}

}  // namespace linkgain::kernels

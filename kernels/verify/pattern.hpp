#pragma once

#include <cstdint>

#include "kernels/common/element.hpp"
#include "kernels/verify/input_range.hpp"

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

// nvcc needs the annotation on what kernels call, another compiler does not know it.
#ifdef __CUDACC__
#define LINKGAIN_BOTH __host__ __device__
#else
#define LINKGAIN_BOTH
#endif

namespace linkgain::kernels {

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

/// For `ranks` >= 1. Where data is only moved, take ReductionKind::max: it has the widest range.
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

/// `bits` scaled to 0 … count - 1; uses the upper bits.
LINKGAIN_BOTH constexpr std::uint32_t scale(std::uint32_t bits, std::uint32_t count) {
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(bits) * count) >> 32);
}

/// The part of the hash that all ranks share; kernels compute it once per element.
LINKGAIN_BOTH constexpr std::uint32_t index_hash(std::uint32_t seed, std::int64_t index) {
  const auto position = static_cast<std::uint64_t>(index);
  const auto lower = static_cast<std::uint32_t>(position);
  const auto upper = static_cast<std::uint32_t>(position >> 32);
  return scramble(lower + upper * 0x9e3779b9U + seed * 0x7feb352dU);
}

/// What `rank` puts in at `index`: counter-based, a second round of scramble() keyed by the rank on
/// top of the first one keyed by seed and index.
LINKGAIN_BOTH constexpr std::int32_t input_value(std::uint32_t seed, int rank, std::int64_t index,
                                                 const InputRange& range) {
  const std::uint32_t shared = index_hash(seed, index);
  if (range.contributors < range.ranks) {
    const auto ranks = static_cast<std::uint32_t>(range.ranks);
    const std::uint32_t turn = (scale(shared, ranks) + static_cast<std::uint32_t>(rank)) % ranks;
    if (turn >= static_cast<std::uint32_t>(range.contributors)) return range.idle;
  }
  const std::uint32_t bits = scramble(shared + static_cast<std::uint32_t>(rank) * 0x9e3779b9U);
  const std::int32_t value = range.low + static_cast<std::int32_t>(scale(bits, range.count));
  return value + (range.skips_zero && value >= 0 ? 1 : 0);
}

/// What mulsum multiplies a rank's input by: 1 or kLargestFactor, which every type holds.
LINKGAIN_BOTH constexpr std::int32_t factor_of(int rank) {
  return rank % 2 == 0 ? 1 : kLargestFactor;
}

/// `combine` applied over the inputs of all ranks at `index`.
template <typename Combine>
LINKGAIN_BOTH constexpr std::int32_t fold_inputs(const Pattern& pattern, std::int64_t index,
                                                 Combine combine) {
  std::int32_t result = input_value(pattern.seed, 0, index, pattern.range);
  for (int rank = 1; rank < pattern.ranks; ++rank) {
    result = combine(result, input_value(pattern.seed, rank, index, pattern.range));
  }
  return result;
}

/// All ranks' inputs at `index` added up, each times its rank's factor.
LINKGAIN_BOTH constexpr std::int32_t sum_of_products(const Pattern& pattern, std::int64_t index) {
  std::int32_t sum = 0;
  for (int rank = 0; rank < pattern.ranks; ++rank) {
    sum += factor_of(rank) * input_value(pattern.seed, rank, index, pattern.range);
  }
  return sum;
}

/// All ranks' inputs at `index` reduced without rounding or wrapping; for avg their sum.
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

/// The result for an integer type, to be converted to the type modulo 2^bits (two's complement, as
/// NCCL and MPI wrap; only 8-bit products do). An average is the sum divided, truncated to zero.
LINKGAIN_BOTH constexpr std::int64_t expected_integer(const Pattern& pattern, std::int64_t index) {
  const std::int32_t result = reduced_inputs(pattern, index);
  return pattern.reduction == ReductionKind::avg ? result / pattern.ranks : result;
}

/// The result for a floating type. Real is float or double; float64 needs double, the other types
/// are served by either.
template <typename Real>
LINKGAIN_BOTH constexpr Real expected_real(const Pattern& pattern, std::int64_t index) {
  const auto result = static_cast<Real>(reduced_inputs(pattern, index));
  return pattern.reduction == ReductionKind::avg ? result / static_cast<Real>(pattern.ranks)
                                                 : result;
}

/// Whether a floating result is right; NaN never is.
template <typename Real>
LINKGAIN_BOTH constexpr bool matches(Real got, Real expected, Real relative_error) {
  const Real error = got < expected ? expected - got : got - expected;
  const Real size = expected < 0 ? -expected : expected;
  return error <= relative_error * size;
}

}  // namespace linkgain::kernels

#undef LINKGAIN_BOTH

#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/common/element.hpp"
#include "number_format.hpp"

namespace linkgain::kernels {

/// Where the rounding of an average happens.
enum class AverageWay {
  multiply_first,  ///< every input times 1/n, rounded, then added up: NCCL's floating types
  multiply_last,   ///< the sum times 1/n
  divide_last,     ///< the sum over n
  wide,            ///< as multiply_first, but added up in a wider type and rounded once
};

inline const std::vector<AverageWay> kAllAverageWays{AverageWay::multiply_first,
                                                     AverageWay::multiply_last,
                                                     AverageWay::divide_last, AverageWay::wide};

inline double combine(ReductionKind reduction, double a, double b) {
  switch (reduction) {
    case ReductionKind::sum:
    case ReductionKind::avg:
    case ReductionKind::mulsum:
      return a + b;
    case ReductionKind::prod:
      return a * b;
    case ReductionKind::min:
      return std::min(a, b);
    case ReductionKind::max:
      return std::max(a, b);
  }
  return 0.0;
}

/// Combines one rank after the other.
template <typename Value, typename Combine>
Value reduce_in_sequence(const std::vector<Value>& values, Combine combine_two) {
  Value result = values.front();
  for (std::size_t k = 1; k < values.size(); ++k) result = combine_two(result, values[k]);
  return result;
}

/// Combines neighbours first, then pairs of them.
template <typename Value, typename Combine>
Value reduce_as_tree(std::vector<Value> values, Combine combine_two) {
  while (values.size() > 1) {
    std::vector<Value> next;
    for (std::size_t k = 0; k + 1 < values.size(); k += 2) {
      next.push_back(combine_two(values[k], values[k + 1]));
    }
    if (values.size() % 2 == 1) next.push_back(values.back());
    values = std::move(next);
  }
  return values.front();
}

/// Returns the results of the orders that rings (from every start, both ways round) and trees use.
template <typename Value, typename Combine>
std::vector<Value> reduce_in_all_orders(std::vector<Value> values, Combine combine_two) {
  std::vector<Value> results;
  for (int direction = 0; direction < 2; ++direction) {
    for (std::size_t start = 0; start < values.size(); ++start) {
      results.push_back(reduce_in_sequence(values, combine_two));
      results.push_back(reduce_as_tree(values, combine_two));
      std::rotate(values.begin(), values.begin() + 1, values.end());
    }
    std::reverse(values.begin(), values.end());
  }
  return results;
}

/// Returns what a floating type's own arithmetic gives, rounding after every step, in every order.
inline std::vector<double> simulate_floats(ElementType type, ReductionKind reduction,
                                           std::vector<double> inputs, AverageWay way) {
  const auto rounded = [type](double value) { return round_to(type, value); };
  const auto ranks = static_cast<double>(inputs.size());
  const double reciprocal = rounded(1.0 / ranks);
  const bool averages = reduction == ReductionKind::avg;
  const bool first = way == AverageWay::multiply_first || way == AverageWay::wide;
  if (averages && first) {
    for (double& input : inputs) {
      input = way == AverageWay::wide ? input * reciprocal : rounded(input * reciprocal);
    }
  }
  auto results = reduce_in_all_orders(std::move(inputs), [&](double a, double b) {
    const double result = combine(reduction, a, b);
    return averages && way == AverageWay::wide ? result : rounded(result);
  });
  for (double& result : results) {
    if (averages && way == AverageWay::multiply_last) result *= reciprocal;
    if (averages && way == AverageWay::divide_last) result /= ranks;
    result = rounded(result);
  }
  return results;
}

/// Returns what an integer type's own arithmetic gives, wrapping after every step, in every order.
inline std::vector<std::int64_t> simulate_integers(ElementType type, ReductionKind reduction,
                                                   const std::vector<std::int64_t>& inputs) {
  const auto wrapped = [type](std::int64_t value) {
    return decode_integer(type, encode_integer(type, value));
  };
  auto results = reduce_in_all_orders(inputs, [&](std::int64_t a, std::int64_t b) -> std::int64_t {
    if (reduction == ReductionKind::prod) return wrapped(a * b);
    if (reduction == ReductionKind::min) return std::min(a, b);
    if (reduction == ReductionKind::max) return std::max(a, b);
    return wrapped(a + b);
  });
  if (reduction == ReductionKind::avg) {
    for (std::int64_t& result : results) result /= static_cast<std::int64_t>(inputs.size());
  }
  return results;
}

}  // namespace linkgain::kernels

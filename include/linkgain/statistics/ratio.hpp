#pragma once

#include <optional>
#include <vector>

namespace linkgain {

/// How many times longer the other takes, t(other)/t(own).
struct Ratio {
  double estimate = 1.0;
  std::optional<double> low;  ///< 95 % interval over launches; one launch has none
  std::optional<double> high;
  int launches = 0;  ///< of the side that has fewer

  /// Half the interval's width over the estimate, on the log scale; absent without an interval.
  std::optional<double> relative_half_width() const;
};

/// 1 - 1/ratio: the share of time saved by the first variant, the guide's "23 %".
double less_time(double ratio);

/// Orders of variants (indices 0 … variants-1) for round after round: a random permutation and its
/// mirror image by turns (ABBAABBA), so that a steady drift moves the medians of four rounds, or of
/// any even number, by the same.
class BalancedOrder {
 public:
  BalancedOrder(int variants, unsigned seed);
  std::vector<int> next();

 private:
  std::vector<int> next_;
};

}  // namespace linkgain

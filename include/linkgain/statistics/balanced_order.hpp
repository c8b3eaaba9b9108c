#pragma once

#include <vector>

namespace linkgain {

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

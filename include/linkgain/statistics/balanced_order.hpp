#pragma once

#include <cstddef>
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

/// A turn of a variant, of which it is the number `time`.
struct Turn {
  int variant = 0;
  int time = 0;
};

/// Returns every variant (0 … variants-1) `times` times, each order of them as likely as any other.
/// Where a run takes so long that something periodic on the machine, a cron job or a neighbour, may
/// fall in step with it, all runs take their order from one such draw: any rule, be it that of
/// pairs, has periods that disturb one variant alone. A drift does not cancel, it widens the
/// interval.
std::vector<Turn> shuffled_order(std::size_t variants, int times, unsigned seed);

}  // namespace linkgain

#include "linkgain/runtime/clock_keeper.hpp"

#include <algorithm>

namespace linkgain {
namespace {

/// Long enough for a GPU to come up from its idle clock.
constexpr Seconds kFirstTime{0.15};
/// A GPU left alone for longer may have fallen back.
constexpr std::chrono::milliseconds kRested{100};
constexpr Seconds kAgain{0.02};
/// Below this share of the highest SM clock seen, it is not at its working clock.
constexpr double kWorkingShare = 0.9;
/// A GPU that is held down by heat or power must not be kept busy for ever.
constexpr int kMostRepeats = 5;

}  // namespace

void ClockKeeper::prepare() {
  if (!last_work_) {
    backend_.keep_busy(kFirstTime);
  } else if (Clock::now() - *last_work_ > kRested) {
    backend_.keep_busy(kAgain);
  }
  for (int i = 0; i < kMostRepeats; ++i) {
    const int clock = monitor_.sm_clock_mhz().value_or(highest_mhz_);
    highest_mhz_ = std::max(highest_mhz_, clock);
    if (clock >= kWorkingShare * highest_mhz_) break;
    backend_.keep_busy(kAgain);
  }
  last_work_ = Clock::now();
}

}  // namespace linkgain

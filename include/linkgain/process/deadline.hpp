#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

#include "linkgain/base/units.hpp"

namespace linkgain {

/// A moment on the monotonic clock until which something may be waited for.
class Deadline {
 public:
  /// `allowed` from now; negative counts as zero, more than 30 years as 30 years.
  explicit Deadline(Seconds allowed)
      : end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(
                 std::chrono::duration<double>(std::clamp(allowed.value, 0.0, kLongest)))) {}

  Seconds remaining() const {
    const std::chrono::duration<double> left = end_ - Clock::now();
    return Seconds{std::max(0.0, left.count())};
  }
  bool passed() const { return Clock::now() >= end_; }

  /// For poll(): the remaining time rounded up, at most `longest`.
  int remaining_milliseconds(int longest) const {
    return static_cast<int>(std::min(std::ceil(remaining().value * 1e3), double(longest)));
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr double kLongest = 1e9;

  Clock::time_point end_;
};

}  // namespace linkgain

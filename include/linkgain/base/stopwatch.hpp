#pragma once

#include <chrono>

#include "linkgain/base/units.hpp"

namespace linkgain {

/// Runs from when it is made, by a clock that nobody sets.
class Stopwatch {
 public:
  /// Returns the time since it was made, or since the last lap.
  Seconds lap() {
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> time = now - start_;
    start_ = now;
    return Seconds{time.count()};
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace linkgain

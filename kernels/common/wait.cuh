#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/memory_order.cuh"

// All waiting that a kernel does by asking again. Nobody may wait here for a block that need not
// run: whose counterparts a kernel waits for must all fit on their devices at once, or have started
// before.

namespace linkgain::kernels {

/// Asks `is_there` until it says so.
template <typename IsThere>
__device__ void spin_until(IsThere is_there) {
  while (!is_there()) {
  }
}

/// Waits until *counter, which others count up, is no more than `behind` below `value`; the numbers
/// may wrap after 2^32. What was written before is seen after.
__device__ inline void wait_for_count(const std::uint32_t* counter, const std::uint32_t& value,
                                      std::uint32_t behind = 0) {
  while (static_cast<std::int32_t>(load_acquire(counter) - (value - behind)) < 0) {
  }
}

/// Waits until *counter, which blocks of this device write, is `value`. A fence must follow.
__device__ inline void wait_for_value(const volatile unsigned* counter, unsigned value) {
  while (*counter != value) {
  }
}

/// Above the clock of any GPU, so that a working timer ends a kernel first.
inline constexpr double kMostCyclesPerMicrosecond = 4000.0;

/// How long a kernel may take: by the device-wide timer (which may advance in steps of a
/// microsecond) or, should that stand still, by the multiprocessor's clock. Counts from when a
/// thread makes one.
class TimeLimit {
 public:
  struct Arguments {
    std::uint64_t nanoseconds;
    long long most_cycles;
  };

  /// For the host, to launch the kernel with. `microseconds` is not negative.
  static Arguments arguments(double microseconds) {
    return {static_cast<std::uint64_t>(microseconds * 1e3),
            static_cast<long long>(microseconds * kMostCyclesPerMicrosecond)};
  }

  __device__ explicit TimeLimit(const Arguments& arguments)
      : arguments_(arguments), start_(global_nanoseconds()), start_cycle_(cycles()) {}

  __device__ bool passed() const {
    return global_nanoseconds() - start_ >= arguments_.nanoseconds ||
           cycles() - start_cycle_ >= arguments_.most_cycles;
  }

 private:
  static __device__ std::uint64_t global_nanoseconds() {
    std::uint64_t now = 0;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
  }

  static __device__ long long cycles() {
    long long now = 0;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now));
    return now;
  }

  Arguments arguments_;
  std::uint64_t start_;
  long long start_cycle_;
};

/// The same, but no longer than the limit.
__device__ inline void wait_for_count(const std::uint32_t* counter, std::uint32_t value,
                                      const TimeLimit& limit) {
  while (static_cast<std::int32_t>(load_acquire(counter) - value) < 0 && !limit.passed()) {
  }
}

}  // namespace linkgain::kernels

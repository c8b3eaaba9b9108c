#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/all_reduce/methods.hpp"
#include "kernels/common/element.hpp"
#include "kernels/common/math.hpp"

/// What all_reduce_stress does, drawn from one seed that all ranks share.
namespace linkgain::test {

/// SplitMix64: a short state, the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  /// Starts the numbers of one thing among those of a seed: a burst, or a rank in it.
  Random(std::uint64_t seed, std::uint64_t number)
      : state_(Random(Random(seed).next() + number).next()) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t bits = state_;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
    return bits ^ (bits >> 31);
  }

  /// Draws from 0 … count - 1.
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(count));
  }
  bool one_in(std::int64_t count) { return below(count) == 0; }
  /// Draws from 0 … 1.
  double share() { return static_cast<double>(next() >> 11) / 9007199254740992.0; }
  std::int64_t log_uniform(std::int64_t low, std::int64_t high) {
    const double drawn = static_cast<double>(low) *
                         std::pow(static_cast<double>(high) / static_cast<double>(low), share());
    return std::clamp(static_cast<std::int64_t>(drawn), low, high);
  }

 private:
  std::uint64_t state_;
};

/// Operations one after the other on the same scratch, of one method with one grid.
struct Burst {
  std::uint64_t number = 0;
  kernels::AllReduceMethod method = kernels::AllReduceMethod::ll;
  kernels::ElementType type = kernels::ElementType::float32;
  bool in_place = false;
  bool graph = false;
  std::vector<std::int64_t> elements;  ///< of each operation
  std::int64_t most_elements = 0;
  double blocks = 1.0;  ///< of those that linkgain would take
  // What counters start from.
  std::uint32_t operations = 0;
  std::uint32_t signals = 0;
  std::uint32_t seed = 0;  ///< of the first operation's data, the next has the next

  std::int64_t most_bytes() const { return most_elements * kernels::traits_of(type).bytes; }
};

/// What there is to draw from; the same on all ranks.
struct Limits {
  std::int64_t smallest_bytes = 4;
  std::int64_t usual_bytes = std::int64_t{4} << 20;      ///< of nearly all operations, at most
  std::int64_t largest_bytes = std::int64_t{256} << 20;  ///< of one in a hundred
  std::int64_t data_bytes = 0;                           ///< memory for a rank's buffers
  std::int64_t scratch_bytes = 0;
  kernels::AllReducePath path = kernels::AllReducePath::p2p_atomics;
  /// What a method needs of scratch.
  std::function<std::int64_t(kernels::AllReduceMethod, std::int64_t)> scratch_of;
};

/// After every buffer, which nobody may touch.
inline constexpr std::int64_t kGuardBytes = 128;

/// Where a burst's buffers lie.
struct Slots {
  explicit Slots(const Burst& burst)
      : padded(kernels::round_up(burst.most_bytes(), kGuardBytes)),
        output(burst.in_place ? 0 : padded + kGuardBytes),
        pitch(output + padded + kGuardBytes) {}

  std::int64_t padded;
  std::int64_t output;  ///< from a slot's beginning, where its input is
  std::int64_t pitch;
};

inline std::vector<kernels::AllReduceMethod> fitting_methods(const Limits& limits,
                                                             const Burst& burst) {
  std::vector<kernels::AllReduceMethod> found;
  if (Slots(burst).pitch > limits.data_bytes) return found;
  for (const kernels::AllReduceTraits& each : kernels::kAllReduceMethods) {
    const bool host = limits.path == kernels::AllReducePath::host_memory;
    if (host && each.has(kernels::kReachesData)) continue;
    if (each.has(kernels::kFloat32Only) && burst.type != kernels::ElementType::float32) continue;
    if (limits.scratch_of(each.method, burst.most_bytes()) <= limits.scratch_bytes) {
      found.push_back(each.method);
    }
  }
  return found;
}

/// Draws zero, a count shortly before the wrap at 2^32, or any below 2^31, which poison is above.
inline std::uint32_t draw_counter(Random& random, std::int64_t before_end) {
  constexpr std::uint32_t kLast = 0xffffffffU;
  if (random.one_in(2)) return kLast - static_cast<std::uint32_t>(random.below(before_end));
  return random.one_in(2) ? 0 : static_cast<std::uint32_t>(random.below(std::int64_t{1} << 31));
}

/// Draws the burst of that number, whatever came before it, of `operations` at most.
inline Burst draw_burst(std::uint64_t seed, std::uint64_t number, const Limits& limits,
                        std::int64_t operations) {
  constexpr std::int64_t kMostOperations = 16;
  constexpr std::int64_t kFewBytes = std::int64_t{4} << 20;
  constexpr std::int64_t kMostLargeOperations = 4;
  // So that one operation in a hundred is large, as bursts of large ones are shorter.
  constexpr std::int64_t kLargeBursts = 30;
  constexpr kernels::ElementType kTypes[] = {
      kernels::ElementType::float32, kernels::ElementType::float16, kernels::ElementType::bfloat16};
  Random random(seed, number);
  Burst burst;
  burst.number = number;
  burst.type = kTypes[random.below(3)];
  burst.in_place = random.one_in(2);
  burst.graph = random.one_in(3);
  const bool large = limits.usual_bytes < limits.largest_bytes && random.one_in(kLargeBursts);
  std::int64_t bytes = large ? random.log_uniform(limits.usual_bytes, limits.largest_bytes)
                             : random.log_uniform(limits.smallest_bytes, limits.usual_bytes);
  std::vector<kernels::AllReduceMethod> methods;
  for (;; bytes /= 2) {
    burst.most_elements = std::max<std::int64_t>(1, bytes / kernels::traits_of(burst.type).bytes);
    methods = fitting_methods(limits, burst);
    if (!methods.empty() || bytes < 2) break;
  }
  if (methods.empty()) return burst;
  burst.method =
      methods[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(methods.size())))];
  const bool few = bytes > kFewBytes;
  const std::int64_t most = std::min(operations, few ? kMostLargeOperations : kMostOperations);
  const std::int64_t count = 1 + random.below(most);
  const bool alike = kernels::traits_of(burst.method).has(kernels::kFlagsInData);
  for (std::int64_t i = 0; i < count; ++i) {
    const bool whole = alike || random.one_in(2);
    burst.elements.push_back(whole ? burst.most_elements
                                   : random.log_uniform(1, burst.most_elements));
  }
  if (!few && random.one_in(2)) burst.blocks = random.share();
  burst.operations = draw_counter(random, count + 2);
  burst.signals = draw_counter(random, 64);
  burst.seed = static_cast<std::uint32_t>(random.next());
  return burst;
}

/// Draws a rank's delay before an operation: half of the time none, else up to 200 us.
inline double draw_delay_microseconds(Random& random) {
  constexpr double kLongest = 200.0;
  return random.one_in(2) ? 0.0 : kLongest * random.share();
}

}  // namespace linkgain::test

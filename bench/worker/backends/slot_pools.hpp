#pragma once

#include <cstdint>

#include "kernels/verify/pattern.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain {

/// Where the slots of a case lie in two stretches of memory: inputs in the first, outputs in the
/// second, in place both in the first. The memory is the caller's, reached by the current device.
class SlotPools {
 public:
  SlotPools(const Case& c, const BufferPlan& plan, int rank);

  /// Returns bytes of the stretches, 0 where there is none.
  Bytes first_size() const { return {strides_.first * slots_}; }
  Bytes second_size() const { return {strides_.second * slots_}; }

  void set_memory(void* first, void* second) {
    first_ = static_cast<char*>(first);
    second_ = static_cast<char*>(second);
  }

  /// Returns the input of a slot; null if this rank has none.
  void* input(std::int64_t slot) const;
  void* output(std::int64_t slot) const;

  /// Puts this rank's known data into the slots' inputs, slot i that of i operations later, and
  /// poison everywhere else.
  void fill(const kernels::Pattern& pattern, const gpu::Stream& stream) const;

 private:
  int rank_;
  RankBuffers buffers_;
  SlotBytes strides_;  ///< from slot to slot
  std::int64_t slots_;
  std::int64_t element_bytes_;
  bool in_place_;
  char* first_ = nullptr;
  char* second_ = nullptr;
};

}  // namespace linkgain

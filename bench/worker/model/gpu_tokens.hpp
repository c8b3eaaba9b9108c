#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpu_state.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain::on_gpu {

/// Brings the tokens of a step to the device, by way of page-locked buffers in turn, so that the
/// host may prepare steps that the device has not come to.
class Tokens {
 public:
  explicit Tokens(State& state);

  /// Enqueues copies of inputs, targets, and of the list of which rows each token stands in. Waits
  /// only while all buffers are still to be copied. Throws as take_apart() does.
  void bring(std::span<const std::int32_t> tokens);

 private:
  struct Slot {
    gpu::PinnedBuffer memory;
    gpu::Event copied;
  };

  State& state_;
  std::vector<Slot> slots_;
  std::size_t next_ = 0;
};

}  // namespace linkgain::on_gpu

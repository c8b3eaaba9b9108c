#include "linkgain/gpu/stream_gate.hpp"

#include <atomic>

#include "kernels/timing/stream_gate.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {

StreamGate::StreamGate() : memory_(Bytes{sizeof(std::uint32_t)}) { *unblocked() = 0; }

void StreamGate::block_stream(const Stream& stream) {
  constexpr double kMostMicroseconds = 1000.0;
  ++blocks_;
  check(kernels::block_stream(stream.get(), unblocked(), blocks_, kMostMicroseconds));
}

void StreamGate::unblock() {
  std::atomic_ref<std::uint32_t>(*unblocked()).store(blocks_, std::memory_order_release);
}

}  // namespace linkgain::gpu

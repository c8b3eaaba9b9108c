#include "nccl/stream_gate.hpp"

#include <atomic>

#include "kernels/timing/stream_gate.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain {

StartGate::StartGate() : memory_(Bytes{sizeof(std::uint32_t)}) { *opened() = 0; }

void StartGate::hold(const gpu::Stream& stream) {
  constexpr double kMostMicroseconds = 1000.0;
  ++holds_;
  gpu::check(kernels::block_stream(stream.get(), opened(), holds_, kMostMicroseconds));
}

void StartGate::open() {
  std::atomic_ref<std::uint32_t>(*opened()).store(holds_, std::memory_order_release);
}

}  // namespace linkgain

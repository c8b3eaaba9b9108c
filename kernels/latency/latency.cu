#include <algorithm>

#include "kernels/common/wait.cuh"
#include "kernels/latency/latency.hpp"

namespace linkgain::kernels {
namespace {

constexpr int kMostThreads = 1024;

__device__ void send(const PingPong& side, std::int64_t items, std::uint32_t flag) {
  auto* inbox = static_cast<LLPacket*>(side.peer_inbox);
  const auto* message = static_cast<const uint2*>(side.message);
  for (std::int64_t i = threadIdx.x; i < items; i += blockDim.x) {
    store_packet(inbox + i, message[i], flag);
  }
}

/// Receives: all threads return when all of the message is there.
__device__ void receive(const PingPong& side, std::int64_t items, std::uint32_t flag, bool keep) {
  const auto* inbox = static_cast<const LLPacket*>(side.inbox);
  auto* received = static_cast<uint2*>(side.received);
  for (std::int64_t i = threadIdx.x; i < items; i += blockDim.x) {
    const uint2 data =
        wait_for_packet(inbox + i, side.bound, Awaited{WaitPhase::message, side.peer, flag});
    if (keep) received[i] = data;
  }
  __syncthreads();
}

__global__ void __launch_bounds__(kMostThreads)
    exchange_messages(const PingPong side, int rounds, std::uint32_t rounds_before) {
  const std::int64_t items = side.bytes / static_cast<std::int64_t>(sizeof(uint2));
  for (int round = 0; round < rounds; ++round) {
    // Never 0, which is what fresh inboxes hold, but once in 2^32 rounds.
    const std::uint32_t flag = rounds_before + static_cast<std::uint32_t>(round) + 1;
    const bool last = round + 1 == rounds;
    if (side.starts) send(side, items, flag);
    receive(side, items, flag, last);
    if (!side.starts) send(side, items, flag);
  }
}

__global__ void follow_offsets(const char* memory, std::uint64_t* position, int loads) {
  std::uint64_t offset = *position;
  for (int i = 0; i < loads; ++i) {
    asm volatile("ld.relaxed.sys.global.u64 %0, [%1];"
                 : "=l"(offset)
                 : "l"(memory + offset)
                 : "memory");
  }
  *position = offset;
}

}  // namespace

cudaError_t ping_pong(const PingPong& side, int rounds, std::uint32_t rounds_before,
                      cudaStream_t stream) {
  constexpr std::int64_t kItem = sizeof(uint2);
  if (side.bytes <= 0 || side.bytes % kItem != 0 || rounds < 1) return cudaErrorInvalidValue;
  const auto threads =
      static_cast<unsigned>(std::min<std::int64_t>(kMostThreads, side.bytes / kItem));
  exchange_messages<<<1, threads, 0, stream>>>(side, rounds, rounds_before);
  return cudaGetLastError();
}

cudaError_t pointer_chase(const void* memory, std::uint64_t* position, int loads,
                          cudaStream_t stream) {
  if (loads < 1) return cudaErrorInvalidValue;
  follow_offsets<<<1, 1, 0, stream>>>(static_cast<const char*>(memory), position, loads);
  return cudaGetLastError();
}

}  // namespace linkgain::kernels

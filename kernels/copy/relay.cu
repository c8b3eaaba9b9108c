#include <algorithm>

#include "kernels/copy/relay.hpp"
#include "kernels/peer/chunks.cuh"
#include "kernels/peer/peer_access.cuh"

namespace linkgain::kernels {
namespace {

constexpr int kThreads = 512;
constexpr std::int64_t kVectorBytes = 16;
constexpr std::int64_t kChunkVectors = kRelayChunk / kVectorBytes;
constexpr int kVectors = static_cast<int>(kChunkVectors) / kThreads;

/// At the start of a lane: chunks that each block has sent, and that were taken.
struct Counters {
  std::uint32_t sent[kRelayBlocks];
  std::uint32_t taken[kRelayBlocks];
};
static_assert(sizeof(Counters) <= kRelayCounterBytes);
static_assert(kVectors * kThreads == kChunkVectors);

__device__ Counters* counters_of(void* lane) { return static_cast<Counters*>(lane); }

__device__ uint4* slot_of(void* lane, std::uint32_t step) {
  const std::int64_t place = blockIdx.x * kRelaySlots + step % kRelaySlots;
  return reinterpret_cast<uint4*>(static_cast<char*>(lane) + kRelayCounterBytes +
                                  place * kRelayChunk);
}

/// One thread waits for all of the block until a counter has come to `step`; the numbers come round
/// after 2^32.
__device__ void wait_for(const std::uint32_t* counter, std::uint32_t step) {
  if (threadIdx.x == 0) {
    while (static_cast<std::int32_t>(load_acquire(counter) - step) < 0) {
    }
  }
  __syncthreads();
}

/// Tells that all threads of the block are done with what came before.
__device__ void count_to(std::uint32_t* counter, std::uint32_t step) {
  __syncthreads();
  if (threadIdx.x == 0) store_release(counter, step);
}

/// Vectors of the block's chunk at this step that are there.
__device__ std::int64_t vectors_in(std::int64_t step, std::int64_t vectors) {
  const std::int64_t first = (step * gridDim.x + blockIdx.x) * kChunkVectors;
  const std::int64_t rest = vectors - first;
  return rest < 0 ? 0 : (rest < kChunkVectors ? rest : kChunkVectors);
}

__global__ void __launch_bounds__(kThreads)
    send(void* lane, const uint4* from, std::int64_t vectors, std::int64_t steps,
         std::uint32_t before) {
  Counters* counters = counters_of(lane);
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::uint32_t now = before + static_cast<std::uint32_t>(step);
    // Of a place's last turn the chunk must be taken.
    wait_for(&counters->taken[blockIdx.x], now + 1 - kRelaySlots);
    const uint4* chunk = from + (step * gridDim.x + blockIdx.x) * kChunkVectors;
    copy_chunk<kVectors>(chunk, slot_of(lane, now), 0, vectors_in(step, vectors));
    count_to(&counters->sent[blockIdx.x], now + 1);
  }
}

__global__ void __launch_bounds__(kThreads)
    receive(void* lane, uint4* to, std::int64_t vectors, std::int64_t steps, std::uint32_t before) {
  Counters* counters = counters_of(lane);
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::uint32_t now = before + static_cast<std::uint32_t>(step);
    wait_for(&counters->sent[blockIdx.x], now + 1);
    uint4* chunk = to + (step * gridDim.x + blockIdx.x) * kChunkVectors;
    copy_chunk<kVectors>(slot_of(lane, now), chunk, 0, vectors_in(step, vectors));
    count_to(&counters->taken[blockIdx.x], now + 1);
  }
}

bool fits(std::int64_t bytes) { return bytes > 0 && bytes % kVectorBytes == 0; }

}  // namespace

std::int64_t relay_steps(std::int64_t bytes) {
  constexpr std::int64_t kStep = kRelayBlocks * kRelayChunk;
  return (bytes + kStep - 1) / kStep;
}

cudaError_t relay_send(void* lane, const void* from, std::int64_t bytes, std::uint32_t steps,
                       cudaStream_t stream) {
  if (!fits(bytes)) return cudaErrorInvalidValue;
  send<<<kRelayBlocks, kThreads, 0, stream>>>(lane, static_cast<const uint4*>(from),
                                              bytes / kVectorBytes, relay_steps(bytes), steps);
  return cudaGetLastError();
}

cudaError_t relay_receive(void* lane, void* to, std::int64_t bytes, std::uint32_t steps,
                          cudaStream_t stream) {
  if (!fits(bytes)) return cudaErrorInvalidValue;
  receive<<<kRelayBlocks, kThreads, 0, stream>>>(lane, static_cast<uint4*>(to),
                                                 bytes / kVectorBytes, relay_steps(bytes), steps);
  return cudaGetLastError();
}

}  // namespace linkgain::kernels

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace linkgain::kernels {

/// Blocks of both kernels, each with a ring of its own.
inline constexpr int kRelayBlocks = 32;
/// Places in a block's ring, and bytes of each.
inline constexpr int kRelaySlots = 4;
inline constexpr std::int64_t kRelayChunk = std::int64_t{32} << 10;

/// A way from one device to another through page-locked host memory that both reach: each block of
/// the sender stores chunks into its ring and the block of the same number of the receiver loads
/// them out of it.
inline constexpr std::int64_t kRelayCounterBytes = 4096;
inline constexpr std::int64_t kRelayBytes =
    kRelayCounterBytes + kRelayBlocks * kRelaySlots * kRelayChunk;

/// What the counters of a lane grow by with an operation of `bytes`, on both sides.
std::int64_t relay_steps(std::int64_t bytes);

/// One side of an operation. `lane` is kRelayBytes, zero before the first operation; `steps` is
/// what earlier operations have added up to. Both sides must go through the same operations in the
/// same order, and both kernels run at once. cudaErrorInvalidValue for sizes that are no multiple
/// of 16.
cudaError_t relay_send(void* lane, const void* from, std::int64_t bytes, std::uint32_t steps,
                       cudaStream_t stream);
cudaError_t relay_receive(void* lane, void* to, std::int64_t bytes, std::uint32_t steps,
                          cudaStream_t stream);

}  // namespace linkgain::kernels

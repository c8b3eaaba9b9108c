#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/random/model_random.hpp"

// What is done to parameters outside of training steps, or to copies of them. Ranges as in
// adamw.hpp: any beginning and end, no elements are no work.

namespace linkgain::kernels {

/// Computes copy[i] = values[i], float32 rounded to bfloat16, to nearest even.
cudaError_t copy_as_bfloat16(const float* values, void* copy, std::int64_t count,
                             cudaStream_t stream);

/// Computes *hash += the sum of hash_contribution(first_index + i, bits of values[i]), modulo 2^64;
/// of -0 those of 0. `hash` is device memory, 8-byte aligned.
cudaError_t add_hash(const float* values, std::int64_t first_index, std::int64_t count,
                     std::uint64_t* hash, cudaStream_t stream);

/// Computes values[i] = initial_weight(seed, tensor, i, distribution), `count` elements: the host's
/// bits.
cudaError_t fill_initial_weights(float* values, std::int64_t count, std::uint64_t seed, int tensor,
                                 const WeightDistribution& distribution, cudaStream_t stream);

}  // namespace linkgain::kernels

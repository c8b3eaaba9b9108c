#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/verify/pattern.hpp"

// Filling and checking device buffers with kernels/verify/pattern.hpp's data. All functions only
// launch work on `stream`, may be captured, and return what the launch returned. Buffers are of
// `pattern.type`, aligned to one element; element 0 of the buffer is index `first_index` of the
// pattern. Arguments that contradict each other give cudaErrorInvalidValue and launch nothing.

namespace linkgain::kernels {

inline constexpr unsigned long long kNoIndex = ~0ULL;

/// What checks found, in device memory that the caller owns. Checks add to it, one at a time: two
/// that may run at once need one each. Clear it first.
struct CheckResult {
  unsigned long long wrong = 0;
  /// The smallest index of a wrong element, with what stood there and what should have.
  unsigned long long first_wrong_index = kNoIndex;
  double first_got = 0.0;
  double first_expected = 0.0;
  /// The largest |got - expected|, of accepted elements too; infinite where NaN was found.
  double largest_error = 0.0;
};

cudaError_t clear_result(CheckResult* device_result, cudaStream_t stream);

/// Writes what `rank` puts in.
cudaError_t fill_input(void* buffer, std::int64_t count, std::int64_t first_index,
                       const Pattern& pattern, int rank, cudaStream_t stream);

/// Compares every element with the reduction over all ranks: integer types exactly as integers,
/// floating types within pattern.relative_error.
cudaError_t check_reduction(const void* output, std::int64_t count, std::int64_t first_index,
                            const Pattern& pattern, CheckResult* device_result,
                            cudaStream_t stream);

/// Compares every element with what `source_rank` put in; always exact.
cudaError_t check_input(const void* output, std::int64_t count, std::int64_t first_index,
                        const Pattern& pattern, int source_rank, CheckResult* device_result,
                        cudaStream_t stream);

}  // namespace linkgain::kernels

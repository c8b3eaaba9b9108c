#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/all_reduce/blocks.hpp"

namespace linkgain::kernels {

/// Data of so many vectors of 16 bytes as a share for each rank: of `pitch` vectors, or what is
/// left. The pitch, in whole lines, is that of `layout` vectors, no fewer, so that operations that
/// share scratch have the same.
template <int kRanks>
class Shares {
 public:
  __device__ Shares(std::int64_t items, std::int64_t layout)
      : items_(items), pitch_(whole_lines(divide_up(layout, kRanks))) {}

  __device__ std::int64_t pitch() const { return pitch_; }
  __device__ std::int64_t first_of(int share) const { return share * pitch_; }
  /// Negative where nothing is left.
  __device__ std::int64_t count_of(int share) const {
    const std::int64_t left = items_ - first_of(share);
    return left < pitch_ ? left : pitch_;
  }
  /// Of a share, with so many vectors for each thread.
  __device__ std::int64_t chunks(int vectors) const {
    const std::int64_t chunk = static_cast<std::int64_t>(blockDim.x) * vectors;
    return divide_up(pitch_, chunk);
  }

 private:
  std::int64_t items_;
  std::int64_t pitch_;
};

}  // namespace linkgain::kernels

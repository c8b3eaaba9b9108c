#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/all_reduce/arguments.hpp"
#include "kernels/all_reduce/shares.cuh"
#include "kernels/peer/chunks.cuh"
#include "kernels/peer/signal.cuh"

namespace linkgain::kernels {

/// One block's part of a float32 all-reduce along the ring of ranks. Data are as many shares as
/// there are ranks, each of `pitch` vectors or what is left. Share q starts at rank q, every rank
/// adds its own to it and sends it on, the last one knows the sum, which goes round once more. In
/// scratch a share has the place of its number.
template <int kRanks>
class RingSums {
 public:
  /// Of a part of the data, one after the other, each needs what the previous rank did in the one
  /// before: kRanks - 1 that add up and as many that spread sums.
  static constexpr int kSteps = 2 * (kRanks - 1);

  __device__ explicit RingSums(const AllReduceArguments& arguments)
      : regions_(arguments.regions),
        offsets_(arguments.offsets),
        shares_(arguments.items, arguments.layout),
        state_(arguments.regions),
        buffers_(buffers_of(state_, kRanks * shares_.pitch())) {}

  /// Of a share.
  __device__ std::int64_t chunks() const { return shares_.chunks(kVectors); }

  /// Takes the chunks from `first` to `end` of one share a step further, when the previous rank has
  /// done all its steps but `behind` of those that this one has done.
  __device__ void take_step(int step, std::int64_t first, std::int64_t end, std::uint32_t behind) {
    const int rank = regions_.rank;
    const int share = (rank + 2 * kRanks - step) % kRanks;
    const int next = (rank + 1) % kRanks;
    const uint4* input = part(regions_.data[rank], offsets_.input, share);
    const uint4* received = part(regions_.scratch[rank], buffers_, share);
    uint4* output = part(regions_.data[rank], offsets_.output, share);
    uint4* to_scratch = part(regions_.scratch[next], buffers_, share);
    uint4* to_output = part(regions_.data[next], offsets_.output, share);
    if (step > 0) wait(behind);
    const std::int64_t count = shares_.count_of(share);
    if (step == 0) {
      copy(input, to_scratch, first, end, count);
    } else if (step < kRanks - 1) {
      add(received, input, first, end, count,
          [&](std::int64_t i, const uint4& sum) { to_scratch[i] = sum; });
    } else if (step == kRanks - 1) {
      add(received, input, first, end, count, [&](std::int64_t i, const uint4& sum) {
        output[i] = sum;
        to_output[i] = sum;
      });
    } else {
      copy(output, to_output, first, end, count);
    }
    state_.tell_one(regions_, kSent, next);
  }

  /// Waits until the previous rank has done all steps but `behind` that this one has.
  __device__ void wait(std::uint32_t behind) {
    state_.wait_for_one(kSent, (regions_.rank + kRanks - 1) % kRanks, behind);
  }

  __device__ void keep() { state_.keep(); }

 private:
  static constexpr int kVectors = 2;  ///< in flight for each thread

  __device__ uint4* part(void* region, std::int64_t offset, int share) const {
    return at<uint4>(region, offset) + shares_.first_of(share);
  }

  static __device__ void copy(const uint4* from, uint4* to, std::int64_t first, std::int64_t end,
                              std::int64_t count) {
#pragma unroll 1
    for (std::int64_t chunk = first; chunk < end; ++chunk) {
      copy_chunk<kVectors>(from, to, chunk, count);
    }
  }

  /// Calls store(place, sum) for this thread's vectors.
  template <typename Store>
  static __device__ void add(const uint4* received, const uint4* own, std::int64_t first,
                             std::int64_t end, std::int64_t count, Store store) {
#pragma unroll 1
    for (std::int64_t chunk = first; chunk < end; ++chunk) {
      uint4 data[kVectors][2];
      for_vectors<kVectors>(chunk, count, [&](int v, std::int64_t i) {
        data[v][0] = load_once(received + i);
        data[v][1] = load_once(own + i);
      });
      for_vectors<kVectors>(chunk, count, [&](int v, std::int64_t i) {
        Sums<float, 4> sums;
        kernels::add(sums, data[v][0]);
        kernels::add(sums, data[v][1]);
        store(i, rounded(sums));
      });
    }
  }

  const PeerRegions& regions_;
  const AllReduceOffsets& offsets_;
  Shares<kRanks> shares_;
  BlockState state_;
  std::int64_t buffers_;
};

}  // namespace linkgain::kernels

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/all_reduce/layout.cuh"
#include "kernels/common/mutant.hpp"
#include "kernels/common/pdl.cuh"
#include "kernels/peer/signal.cuh"

// Each rank adds up a share of the data: two_shot, staged_two_shot. Phases: scatter (every rank
// stores each share into the scratch of the rank that adds it up), reduce and broadcast (that rank
// stores the sums into all others' outputs), and, where ranks only share host memory, gather (the
// others load the sums from scratch). A block waits for its counterparts before it adds up a chunk,
// and once more before it is done, or loads.

namespace linkgain::kernels {

/// One block's part of an all-reduce whose ranks each add up a share, of `pitch` vectors or what is
/// left of it. In scratch the shares come first, by sender; if sums go through scratch too, those
/// of the rank itself lie after them.
template <typename T, int kRanks, int kVectors = vectors_in_flight(kRanks)>
class TwoShot {
 public:
  __device__ TwoShot(const AllReduceArguments& arguments, bool staged)
      : peers_(arguments.peers),
        input_(static_cast<const uint4*>(arguments.input)),
        shares_(arguments.items, arguments.layout),
        signals_(arguments.peers, arguments.bound),
        buffers_(buffers_of(signals_, (staged ? kRanks + 1 : kRanks) * shares_.pitch())) {}

  __device__ std::uint32_t chunks() const { return shares_.chunks(kVectors); }

  /// Sends a chunk of every other rank's share to it.
  __device__ void scatter(std::uint32_t chunk) {
    if constexpr (kMutant == Mutant::flag_before_data) {
      signals_.template signal<kRanks>(kSent);
    }
#pragma unroll
    for (int step = 1; step < kRanks; ++step) {
      const int peer = (peers_.rank + step) % kRanks;
      uint4* to = scratch_of(step) + shares_.first_of(peers_.rank);
      copy_chunk<kVectors>(input_ + shares_.first_of(peer), to, chunk, shares_.count_of(peer));
    }
    if constexpr (kMutant != Mutant::flag_before_data) {
      signals_.template signal<kRanks>(kSent);
    }
  }

  /// Waits for a chunk of this rank's share, adds it up, and stores it into every rank's output or,
  /// staged, into its own, and once into its scratch for all others. `sent` more chunks were sent
  /// since.
  __device__ void reduce_and_broadcast(std::uint32_t chunk, std::uint32_t sent, bool staged) {
    signals_.template wait<kRanks>(kSent, sent);
    const int rank = peers_.rank;
    uint4 results[kVectors];
    add_up<T, kRanks, kVectors>(rank, input_ + shares_.first_of(rank), scratch_of(0),
                                shares_.pitch(), chunk, shares_.count_of(rank), results);
    const auto store = [&](uint4* to) {
      for_vectors<kVectors>(chunk, shares_.count_of(rank),
                            [&](int v, std::uint32_t i) { to[i] = results[v]; });
    };
    if (staged) store(staged_sums(0));
#pragma unroll
    for (int step = 0; step < kRanks; ++step) {
      if (staged && step > 0) break;
      store(output_of(step) + shares_.first_of(rank));
    }
  }

  __device__ void signal_finished() { signals_.template signal<kRanks>(kFinished); }
  __device__ void wait_finished(std::uint32_t behind) {
    signals_.template wait<kRanks>(kFinished, behind);
  }

  /// Takes the others' sums of a chunk out of their scratch.
  __device__ void gather(std::uint32_t chunk) {
#pragma unroll
    for (int step = 1; step < kRanks; ++step) {
      const int peer = (peers_.rank + step) % kRanks;
      copy_chunk<kVectors>(staged_sums(step), output_of(0) + shares_.first_of(peer), chunk,
                           shares_.count_of(peer));
    }
  }

  __device__ void commit() { signals_.commit(); }

 private:
  // For the rank that comes so many steps after this one:
  __device__ uint4* output_of(int step) const {
    return static_cast<uint4*>(peers_.by_step[step].output);
  }
  __device__ uint4* scratch_of(int step) const {
    return at<uint4>(peers_.by_step[step].scratch, buffers_);
  }

  /// Returns where its sums lie if they go through scratch.
  __device__ uint4* staged_sums(int step) const {
    return scratch_of(step) + kRanks * shares_.pitch();
  }

  const PeerSteps& peers_;
  const uint4* input_;
  Shares<kRanks> shares_;
  BlockSignals signals_;
  std::int64_t buffers_;
};

/// Sends a block's next chunk before it waits for the others' last one. Where it stores sums, its
/// counterpart has sent data of this operation, so that everything before it is over there.
template <typename T, int kRanks>
__global__ void __launch_bounds__(kAllReduceThreads, two_shot_blocks(kRanks))
    two_shot(const __grid_constant__ AllReduceArguments arguments) {
  pdl_trigger_then_wait();
  // Sums of half precision take twice as many registers; two blocks leave none for a fourth vector.
  constexpr int kVectors = kRanks == 2 && sizeof(T) == 2 ? 3 : vectors_in_flight(kRanks);
  TwoShot<T, kRanks, kVectors> block(arguments, false);
  const std::uint32_t chunks = block.chunks();
  if (blockIdx.x < chunks) block.scatter(blockIdx.x);
  for (std::uint32_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const std::uint32_t next = chunk + gridDim.x;
    if (next < chunks) block.scatter(next);
    block.reduce_and_broadcast(chunk, next < chunks ? 1 : 0, false);
  }
  block.signal_finished();
  block.wait_finished(0);
  block.commit();
}

/// Works as above, and a block takes the others' sums of a chunk when it has added the next one up.
/// Without a number of blocks the compiler spills to make room for more.
template <typename T, int kRanks>
__global__ void __launch_bounds__(kAllReduceThreads, 1)
    staged_two_shot(const __grid_constant__ AllReduceArguments arguments) {
  pdl_trigger_then_wait();
  TwoShot<T, kRanks> block(arguments, true);
  const std::uint32_t chunks = block.chunks();
  std::uint32_t last = chunks;  // none
  if (blockIdx.x < chunks) block.scatter(blockIdx.x);
  for (std::uint32_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const std::uint32_t next = chunk + gridDim.x;
    if (next < chunks) block.scatter(next);
    block.reduce_and_broadcast(chunk, next < chunks ? 1 : 0, true);
    block.signal_finished();
    if (last < chunks) {
      block.wait_finished(1);
      block.gather(last);
    }
    last = chunk;
  }
  if (last < chunks) {
    block.wait_finished(0);
    block.gather(last);
  }
  block.commit();
}

template <>
struct KernelOf<AllReduceMethod::two_shot> {
  template <typename T, int kRanks>
  static AllReduceKernel get() {
    return two_shot<T, kRanks>;
  }
};

template <>
struct KernelOf<AllReduceMethod::staged_two_shot> {
  template <typename T, int kRanks>
  static AllReduceKernel get() {
    return staged_two_shot<T, kRanks>;
  }
};

}  // namespace linkgain::kernels

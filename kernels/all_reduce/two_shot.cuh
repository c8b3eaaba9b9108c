#pragma once

#include <cstdint>

#include "kernels/all_reduce/block.cuh"

// Each rank adds up a share of the data: two_shot, staged_two_shot. Phases: scatter (every rank
// stores each share into the scratch of the rank that adds it up), reduce and broadcast (that rank
// stores the sums into all others' outputs), and, where ranks only share host memory, gather (the
// others load the sums from scratch). A block waits for its counterparts before it adds up a chunk,
// and once more before it is done, or loads.

namespace linkgain::kernels {

/// One block's part. In scratch the shares come first, by sender; if sums are staged there too,
/// those of the rank itself lie after them.
template <typename T, int kRanks, bool kStaged>
class TwoShot {
 public:
  __device__ explicit TwoShot(const AllReduceArguments& arguments)
      : peers_(arguments.peers),
        input_(static_cast<const uint4*>(arguments.input)),
        shares_(arguments),
        block_(arguments, (kStaged ? kRanks + 1 : kRanks) * shares_.pitch()) {}

  /// Works on every gridDim.x-th chunk, and sends the next one before it waits for the others' last
  /// one. Where it stores sums, its counterpart has sent data of this operation, so that everything
  /// before it is over there. Staged, it takes the others' sums of a chunk when it has added the
  /// next one up.
  __device__ void run() {
    const std::uint32_t chunks = shares_.chunks(kVectors);
    std::uint32_t last = chunks;  // none
    if (blockIdx.x < chunks) scatter(blockIdx.x);
    for (std::uint32_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
      const std::uint32_t next = chunk + gridDim.x;
      if (next < chunks) scatter(next);
      reduce_and_broadcast(chunk, next < chunks ? 1 : 0);
      if constexpr (kStaged) {
        block_.signal(kFinished);
        if (last < chunks) gather(last, 1);
        last = chunk;
      }
    }
    if constexpr (kStaged) {
      if (last < chunks) gather(last, 0);
    } else {
      block_.signal(kFinished);
      block_.wait(kFinished, 0);
    }
    block_.commit();
  }

 private:
  // Sums of half precision take twice as many registers; two blocks leave none for a fourth vector.
  static constexpr int kVectors =
      !kStaged && kRanks == 2 && sizeof(T) == 2 ? 3 : vectors_in_flight(kRanks);

  /// Sends a chunk of every other rank's share to it.
  __device__ void scatter(std::uint32_t chunk) {
    if constexpr (kMutant == Mutant::flag_before_data) block_.signal(kSent);
#pragma unroll
    for (int step = 1; step < kRanks; ++step) {
      const int peer = (peers_.rank + step) % kRanks;
      uint4* to = block_.buffers(step) + shares_.first_of(peers_.rank);
      copy_chunk<kVectors>(input_ + shares_.first_of(peer), to, chunk, shares_.count_of(peer));
    }
    if constexpr (kMutant != Mutant::flag_before_data) block_.signal(kSent);
  }

  /// Waits for a chunk of this rank's share, adds it up, and stores it into every rank's output or,
  /// staged, into its own, and once into its scratch for all others. `sent` more chunks were sent
  /// since.
  __device__ void reduce_and_broadcast(std::uint32_t chunk, std::uint32_t sent) {
    block_.wait(kSent, sent);
    const int rank = peers_.rank;
    const std::uint32_t count = shares_.count_of(rank);
    const uint4* own = input_ + shares_.first_of(rank);
    const uint4* received = block_.buffers(0);
    const std::int64_t pitch = shares_.pitch();
    uint4 data[kVectors][kRanks];
    for_vectors<kVectors>(chunk, count, [&](int v, std::uint32_t i) {
#pragma unroll
      for (int from = 0; from < kRanks; ++from) {
        data[v][from] = load_once(from == rank ? own + i : received + from * pitch + i);
      }
    });
    uint4 results[kVectors];
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      Sums<T, 4> sums;
#pragma unroll
      for (int from = 0; from < kRanks; ++from) add(sums, data[v][from]);
      results[v] = rounded(sums);
    }
    const auto store = [&](uint4* to) {
      for_vectors<kVectors>(chunk, count, [&](int v, std::uint32_t i) { to[i] = results[v]; });
    };
    if constexpr (kStaged) store(staged_sums(0));
#pragma unroll
    for (int step = 0; step < (kStaged ? 1 : kRanks); ++step) {
      store(static_cast<uint4*>(peers_.by_step[step].output) + shares_.first_of(rank));
    }
  }

  /// Waits for the others' sums of a chunk and takes them out of their scratch.
  __device__ void gather(std::uint32_t chunk, std::uint32_t behind) {
    block_.wait(kFinished, behind);
#pragma unroll
    for (int step = 1; step < kRanks; ++step) {
      const int peer = (peers_.rank + step) % kRanks;
      copy_chunk<kVectors>(staged_sums(step),
                           static_cast<uint4*>(peers_.by_step[0].output) + shares_.first_of(peer),
                           chunk, shares_.count_of(peer));
    }
  }

  /// Returns the sums in the scratch of the rank that comes so many steps after this one.
  __device__ uint4* staged_sums(int step) const {
    return block_.buffers(step) + kRanks * shares_.pitch();
  }

  const PeerSteps& peers_;
  const uint4* input_;
  Shares<kRanks> shares_;
  Block<kRanks> block_;
};

}  // namespace linkgain::kernels

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/all_reduce/arguments.hpp"
#include "kernels/all_reduce/blocks.hpp"
#include "kernels/all_reduce/shares.cuh"
#include "kernels/peer/chunks.cuh"
#include "kernels/peer/signal.cuh"

namespace linkgain::kernels {

template <int kRanks>
inline constexpr int kInFlight = vectors_in_flight(kRanks);

/// One block's part of an all-reduce whose ranks each add up a share, of `pitch` vectors or what is
/// left of it. In scratch the shares come first, by sender; if sums go through scratch too, those
/// of the rank itself lie after them.
template <typename T, int kRanks>
class SharedSums {
 public:
  __device__ SharedSums(const AllReduceArguments& arguments, bool relayed)
      : regions_(arguments.regions),
        offsets_(arguments.offsets),
        shares_(arguments.items, arguments.layout),
        state_(arguments.regions),
        buffers_(buffers_of(state_, (relayed ? kRanks + 1 : kRanks) * shares_.pitch())) {}

  __device__ std::int64_t chunks() const { return shares_.chunks(kInFlight<kRanks>); }

  /// Sends a chunk of every other rank's share to it.
  __device__ void send(std::int64_t chunk) {
    const uint4* input = at<uint4>(regions_.data[regions_.rank], offsets_.input);
#pragma unroll
    for (int step = 1; step < kRanks; ++step) {
      const int peer = (regions_.rank + step) % kRanks;
      uint4* to = at<uint4>(regions_.scratch[peer], buffers_) + regions_.rank * shares_.pitch();
      copy_chunk<kInFlight<kRanks>>(input + shares_.first_of(peer), to, chunk,
                                    shares_.count_of(peer));
    }
    state_.template tell<kRanks>(regions_, kSent);
  }

  /// Waits for a chunk of this rank's share, adds it up, and stores it into every rank's output or,
  /// relayed, into its own, and once into its scratch for all others. `sent` more chunks were sent
  /// since.
  __device__ void add(std::int64_t chunk, std::uint32_t sent, bool relayed) {
    state_.template wait<kRanks>(regions_, kSent, sent);
    const int rank = regions_.rank;
    uint4 results[kInFlight<kRanks>];
    add_up<T, kRanks, kInFlight<kRanks>>(
        rank, at<uint4>(regions_.data[rank], offsets_.input) + shares_.first_of(rank),
        at<uint4>(regions_.scratch[rank], buffers_), shares_.pitch(), chunk, shares_.count_of(rank),
        results);
    const auto store = [&](uint4* to) {
      for_vectors<kInFlight<kRanks>>(chunk, shares_.count_of(rank),
                                     [&](int v, std::int64_t i) { to[i] = results[v]; });
    };
    if (relayed) store(relay(rank));
#pragma unroll
    for (int step = 0; step < kRanks; ++step) {
      const int peer = (rank + step) % kRanks;
      if (relayed && step > 0) break;
      store(at<uint4>(regions_.data[peer], offsets_.output) + shares_.first_of(rank));
    }
  }

  __device__ void tell_finished() { state_.template tell<kRanks>(regions_, kFinished); }
  __device__ void wait_finished(std::uint32_t behind) {
    state_.template wait<kRanks>(regions_, kFinished, behind);
  }

  /// Takes the others' sums of a chunk out of their scratch.
  __device__ void take(std::int64_t chunk) {
    const int rank = regions_.rank;
    uint4* output = at<uint4>(regions_.data[rank], offsets_.output);
#pragma unroll
    for (int step = 1; step < kRanks; ++step) {
      const int peer = (rank + step) % kRanks;
      copy_chunk<kInFlight<kRanks>>(relay(peer), output + shares_.first_of(peer), chunk,
                                    shares_.count_of(peer));
    }
  }

  __device__ void keep() { state_.keep(); }

 private:
  /// Where a rank's sums lie if they go through scratch.
  __device__ uint4* relay(int rank) const {
    return at<uint4>(regions_.scratch[rank], buffers_) + kRanks * shares_.pitch();
  }

  const PeerRegions& regions_;
  const AllReduceOffsets& offsets_;
  Shares<kRanks> shares_;
  BlockState state_;
  std::int64_t buffers_;
};

}  // namespace linkgain::kernels

#pragma once

#include <cstdint>

#include "kernels/all_reduce/block.cuh"

// Every rank stores its data into the others' scratch, in which every word is a sentinel until its
// data come; no sender stores one, so whoever sees anything else in a word has that word's data,
// whatever becomes of its neighbours. Between two ranks in one phase: each has all data. Between
// more in two: each adds up a share, and sends the sums in the same way. A thread waits for the
// words of its own vectors, and for nothing else.
//
// Scratch has three sets of buffers in turn. An operation clears, while its words are on their way,
// the set of the one before, which is over on this rank. Another rank stores into that set two
// operations on: for that it has seen this rank's words of the next one, which this rank sends when
// this operation is done.

namespace linkgain::kernels {

/// All bits set: a NaN in float32, and two of them in half precision.
inline constexpr std::uint32_t kSentinel = 0xffffffffU;
inline constexpr int kSentinelByte = 0xff;

inline constexpr std::uint32_t kSentinelSets = kMutant == Mutant::two_sets ? 2 : 3;

/// Returns another NaN for the sentinel: sums of either are the same one.
__device__ inline std::uint32_t without_sentinel(std::uint32_t word) {
  return word == kSentinel ? kSentinel - 1 : word;
}

/// Stores four words into another rank's memory.
__device__ inline void store_words(uint4* to, const uint4& data) {
  store_relaxed(to, make_uint4(without_sentinel(data.x), without_sentinel(data.y),
                               without_sentinel(data.z), without_sentinel(data.w)));
}

__device__ inline void clear_words(uint4* place) {
  if constexpr (kMutant == Mutant::no_clear) return;
  store_relaxed(place, make_uint4(kSentinel, kSentinel, kSentinel, kSentinel));
}

__device__ inline bool has_all_words(const uint4& data) {
  return data.x != kSentinel && data.y != kSentinel && data.z != kSentinel && data.w != kSentinel;
}

/// Vectors that are waited for together.
template <int kCount>
struct Vectors {
  uint4 of[kCount];
};

/// Waits for the words of those of kCount vectors, `pitch` apart, that are needed(number). Asks for
/// all of them at once.
template <int kCount, typename Needed>
__device__ Vectors<kCount> wait_for_words(const uint4* first, std::int64_t pitch, Needed needed,
                                          const WaitBound& bound, const Awaited& awaited) {
  Vectors<kCount> data;
  wait_until(
      [&] {
#pragma unroll
        for (int v = 0; v < kCount; ++v) {
          if (needed(v)) data.of[v] = load_relaxed(first + v * pitch);
        }
      },
      [&] {
        bool complete = true;
#pragma unroll
        for (int v = 0; v < kCount; ++v) {
          complete = complete && (!needed(v) || has_all_words(data.of[v]));
        }
        return complete;
      },
      bound, awaited, [&] { return kSentinel; });
  return data;
}

/// One block's set of buffers, and the one that it clears; each of `places` vectors.
class SentinelSets {
 public:
  /// Reads the block's state. The number of operations says the set; it counts up to that of sets.
  __device__ SentinelSets(const PeerSteps& peers, std::int64_t places)
      : count_(control_of(peers.by_step[0])->operations[blockIdx.x]),
        set_(count_ % kSentinelSets),
        bytes_(places * static_cast<std::int64_t>(sizeof(uint4))) {}

  /// Returns where the set in use begins in every rank's scratch.
  __device__ std::int64_t in_use() const { return kControlBytes + set_ * bytes_; }
  __device__ std::int64_t to_clear() const {
    constexpr std::uint32_t kStep = kMutant == Mutant::clear_after_send ? 1 : kSentinelSets - 1;
    return kControlBytes + (set_ + kStep) % kSentinelSets * bytes_;
  }
  __device__ Awaited awaits(int peer) const { return {WaitPhase::packet, peer, count_ + 1}; }

  /// Prepares for the next operation. All threads of the block have read the state by then.
  __device__ void commit(const PeerSteps& peers) const {
    __syncthreads();
    if (threadIdx.x != 0) return;
    control_of(peers.by_step[0])->operations[blockIdx.x] = (set_ + 1) % kSentinelSets;
  }

 private:
  std::uint32_t count_;
  std::uint32_t set_;
  std::int64_t bytes_;
};

/// Exchanges sums between two ranks, where each thread has one vector, or none.
template <typename T>
__device__ void exchange_one(const AllReduceArguments& arguments) {
  const PeerSteps& peers = arguments.peers;
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool has_one = i < arguments.items;
  uint4 own{};
  if (has_one) own = static_cast<const uint4*>(arguments.input)[i];
  const SentinelSets sets(peers, arguments.layout);
  if (has_one) store_words(at<uint4>(peers.by_step[1].scratch, sets.in_use()) + i, own);
  sets.commit(peers);
  if (!has_one) return;
  clear_words(at<uint4>(peers.by_step[0].scratch, sets.to_clear()) + i);
  const auto other = wait_for_words<1>(
      at<uint4>(peers.by_step[0].scratch, sets.in_use()) + i, 0, [](int) { return true; },
      arguments.bound, sets.awaits(1 - peers.rank));
  Sums<T, 4> sums;
  add(sums, own);
  add(sums, other.of[0]);
  static_cast<uint4*>(peers.by_step[0].output)[i] = rounded(sums);
}

/// Exchanges them where a thread has several vectors, which go in groups. The next group is on its
/// way when the one before is waited for.
template <typename T, int kVectors>
__device__ void exchange_groups(const AllReduceArguments& arguments) {
  const PeerSteps& peers = arguments.peers;
  const std::uint32_t items = arguments.items;
  const std::uint32_t stride = gridDim.x * blockDim.x;
  const auto* input = static_cast<const uint4*>(arguments.input);
  auto* output = static_cast<uint4*>(peers.by_step[0].output);
  const auto for_group = [&](std::uint32_t first, auto work) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const std::uint32_t i = first + v * stride;
      if (i < items) work(v, i);
    }
  };
  uint4 data[kVectors];
  const auto read = [&](std::uint32_t first) {
    for_group(first, [&](int v, std::uint32_t i) { data[v] = input[i]; });
  };
  const std::uint32_t own = blockIdx.x * blockDim.x + threadIdx.x;
  read(own);
  const SentinelSets sets(peers, arguments.layout);
  uint4* to = at<uint4>(peers.by_step[1].scratch, sets.in_use());
  const auto send = [&](std::uint32_t first) {
    for_group(first, [&](int v, std::uint32_t i) { store_words(to + i, data[v]); });
  };
  send(own);
  sets.commit(peers);
  const uint4* received = at<uint4>(peers.by_step[0].scratch, sets.in_use());
  uint4* cleared = at<uint4>(peers.by_step[0].scratch, sets.to_clear());
#pragma unroll 1
  for (std::uint32_t first = own; first < items;) {
    const std::uint32_t next = first + kVectors * stride;
    if (next < items) {
      read(next);
      send(next);
    }
    for_group(first, [&](int, std::uint32_t i) { clear_words(cleared + i); });
    if (next < items || first != own) read(first);
    const auto others = wait_for_words<kVectors>(
        received + first, stride, [&](int v) { return first + v * stride < items; },
        arguments.bound, sets.awaits(1 - peers.rank));
    for_group(first, [&](int v, std::uint32_t i) {
      Sums<T, 4> sums;
      add(sums, data[v]);
      add(sums, others.of[v]);
      output[i] = rounded(sums);
    });
    first = next;
  }
}

template <typename T>
__device__ void sentinel_one_phase(const AllReduceArguments& arguments) {
  const std::uint32_t threads = gridDim.x * blockDim.x;
  if (arguments.items <= threads) {
    exchange_one<T>(arguments);
  } else if (arguments.items <= 2 * threads) {
    exchange_groups<T, 2>(arguments);
  } else {
    exchange_groups<T, 1>(arguments);
  }
}

/// Serves three ranks and more. In a set the shares of the data come first, by sender, and then the
/// sums, by the rank that added them up.
template <typename T, int kRanks>
__device__ void sentinel_two_phases(const AllReduceArguments& arguments) {
  const PeerSteps& peers = arguments.peers;
  const int rank = peers.rank;
  const Shares<kRanks> shares(arguments);
  const auto pitch = static_cast<std::uint32_t>(shares.pitch());
  const std::uint32_t first = blockIdx.x * blockDim.x + threadIdx.x;
  const std::uint32_t stride = gridDim.x * blockDim.x;
  const auto* input = static_cast<const uint4*>(arguments.input);
  auto* output = static_cast<uint4*>(peers.by_step[0].output);
  const SentinelSets sets(peers, 2 * kRanks * shares.pitch());
  for (std::uint32_t i = first; i < pitch; i += stride) {
#pragma unroll
    for (int step = 1; step < kRanks; ++step) {
      const int peer = (rank + step) % kRanks;
      if (i >= shares.count_of(peer)) continue;
      uint4* to = at<uint4>(peers.by_step[step].scratch, sets.in_use()) + shares.first_of(rank);
      store_words(to + i, input[shares.first_of(peer) + i]);
    }
  }
  sets.commit(peers);
  const uint4* received = at<uint4>(peers.by_step[0].scratch, sets.in_use());
  uint4* cleared = at<uint4>(peers.by_step[0].scratch, sets.to_clear());
  for (std::uint32_t i = first; i < pitch; i += stride) {
#pragma unroll
    for (int row = 0; row < 2 * kRanks; ++row) clear_words(cleared + row * shares.pitch() + i);
    if (i >= shares.count_of(rank)) continue;
    const uint4 own = input[shares.first_of(rank) + i];
    const auto data = wait_for_words<kRanks>(
        received + i, shares.pitch(), [&](int from) { return from != rank; }, arguments.bound,
        sets.awaits(rank == 0 ? 1 : 0));
    Sums<T, 4> sums;
#pragma unroll
    for (int from = 0; from < kRanks; ++from) {
      uint4 each = data.of[from];  // a copy: of a choice between places the compiler makes memory
      if (from == rank) each = own;
      add(sums, each);
    }
    const uint4 result = rounded(sums);
    output[shares.first_of(rank) + i] = result;
#pragma unroll
    for (int step = 1; step < kRanks; ++step) {
      uint4* to = at<uint4>(peers.by_step[step].scratch, sets.in_use()) +
                  (kRanks + std::int64_t{rank}) * shares.pitch();
      store_words(to + i, result);
    }
  }
  const uint4* sums = received + kRanks * shares.pitch();
  for (std::uint32_t i = first; i < pitch; i += stride) {
    const auto is_there = [&](int from) { return from != rank && i < shares.count_of(from); };
    const auto data = wait_for_words<kRanks>(sums + i, shares.pitch(), is_there, arguments.bound,
                                             sets.awaits(rank == 0 ? 1 : 0));
#pragma unroll
    for (int from = 0; from < kRanks; ++from) {
      if (is_there(from)) output[shares.first_of(from) + i] = data.of[from];
    }
  }
}

}  // namespace linkgain::kernels

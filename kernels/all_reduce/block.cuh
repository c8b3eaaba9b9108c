#pragma once

#include <cstdint>

#include "kernels/common/math.hpp"
#include "kernels/common/vectors.cuh"
#include "kernels/common/wait.cuh"
#include "kernels/peer/peer_regions.hpp"

// What the all-reduce kernels share: their arguments, how data lie in scratch, and how a block
// keeps step with its counterparts, the blocks of the same number on the other ranks.

namespace linkgain::kernels {

/// What every thread reads stands close together, at the beginning: a launch's arguments are in no
/// cache yet, and small operations wait for each line of them.
struct AllReduceArguments {
  // Both of the size that the method goes by, padding included.
  std::uint32_t items;   ///< of this operation
  std::uint32_t layout;  ///< of the largest one that shares the scratch, up to a whole line
  const void* input;
  WaitBound bound;  ///< of every wait for another rank
  PeerSteps peers;
};

/// Which stage of an operation a rank has come to in a block; see Control.
enum Stage { kSent, kFinished, kStages };

/// At the start of scratch. Counters grow from operation to operation. Each block has its own, so
/// that none has to wait for another one of its rank.
struct alignas(kLineBytes) Control {
  /// What this rank has counted up to in a block, by stage; and operations, for the set of buffers.
  std::uint32_t counted[kMostBlocks][kStages];
  std::uint32_t operations[kMostBlocks];
  /// What the others have, written by them.
  std::uint32_t arrived[kStages][kMostBlocks][kMostRanks];
};

/// Bytes before the buffers in a rank's scratch.
inline constexpr std::int64_t kControlBytes = sizeof(Control);
/// Bytes of a place in a buffer: a vector's, or a packet's.
inline constexpr std::int64_t kPlaceBytes = 16;

inline constexpr int kBufferSets = kMutant == Mutant::one_buffer_set ? 1 : 2;

/// Rounds `vectors` up to the end of their last line: shares and rows of scratch begin at one.
LINKGAIN_BOTH constexpr std::int64_t whole_lines(std::int64_t vectors) {
  return round_up(vectors, std::int64_t{kLineBytes} / static_cast<std::int64_t>(sizeof(uint4)));
}

/// Returns vectors in flight for each thread of a kernel in which a rank talks to all others, so
/// that the links' latency is covered.
LINKGAIN_BOTH constexpr int vectors_in_flight(int ranks) {
  return ranks == 2 ? 4 : (ranks <= 4 ? 2 : 1);
}

/// Returns what lies at an offset of a region.
template <typename T>
__device__ T* at(void* region, std::int64_t offset) {
  return reinterpret_cast<T*>(static_cast<char*>(region) + offset);
}

__device__ inline Control* control_of(const PeerSteps::Region& region) {
  return static_cast<Control*>(region.scratch);
}

/// What this rank knows of one block, from operation to operation. There are two sets of buffers in
/// turn: whoever sends in operation k+2 has seen everybody's data of k+1, whose senders were then
/// done with k.
template <int kRanks>
class Block {
 public:
  /// Reads the block's state. `arguments` must outlive it. A set of buffers has so many `places` of
  /// 16 bytes for all senders together.
  __device__ Block(const AllReduceArguments& arguments, std::int64_t places)
      : peers_(arguments.peers),
        own_(*control_of(arguments.peers.by_step[0])),
        bound_(arguments.bound),
        operations_(own_.operations[blockIdx.x]),
        counted_{own_.counted[blockIdx.x][kSent], own_.counted[blockIdx.x][kFinished]},
        buffers_(kControlBytes + (operations_ % kBufferSets == 0 ? 0 : places * kPlaceBytes)) {}

  /// Returns where the set in use begins in the scratch of the rank that comes so many steps after
  /// this one.
  template <typename Place = uint4>
  __device__ Place* buffers(int step) const {
    return at<Place>(peers_.by_step[step].scratch, buffers_);
  }
  /// Returns the flag, never 0, which is what fresh buffers hold.
  __device__ std::uint32_t flag() const { return operations_ + 1; }

  /// Signals to every other rank's counterpart that what the block has written so far is there, for
  /// whoever waits until it has counted one more. All threads must call it; only some are held up.
  __device__ void signal(Stage stage) {
    ++counted_[stage];
    __syncthreads();
    const unsigned step = threadIdx.x;
    if (step > 0 && step < kRanks) store_count(static_cast<int>(step), stage);
  }

  /// Waits until every other rank's counterpart has signalled `behind` less than this one has.
  __device__ void wait(Stage stage, std::uint32_t behind) {
    const int peer = static_cast<int>(threadIdx.x);
    if (peer < kRanks && peer != peers_.rank) wait_for_peer(stage, peer, behind);
    end_if_any_gave_up();
  }

  /// Signals as signal() does, but only the rank that comes so many steps after this one.
  __device__ void signal_one(int step, Stage stage) {
    ++counted_[stage];
    __syncthreads();
    if (threadIdx.x == 0) store_count(step, stage);
  }

  /// Waits as wait() does, for `peer` alone.
  __device__ void wait_for_one(Stage stage, int peer, std::uint32_t behind) {
    if (threadIdx.x == 0) wait_for_peer(stage, peer, behind);
    end_if_any_gave_up();
  }

  /// Prepares for the next operation. All threads of the block have read the state by then.
  __device__ void commit() {
    __syncthreads();
    if (threadIdx.x != 0) return;
    own_.operations[blockIdx.x] = operations_ + 1;
    own_.counted[blockIdx.x][kSent] = counted_[kSent];
    own_.counted[blockIdx.x][kFinished] = counted_[kFinished];
  }

 private:
  __device__ void store_count(int step, Stage stage) const {
    Control* peer = control_of(peers_.by_step[step]);
    store_release(&peer->arrived[stage][blockIdx.x][peers_.rank], counted_[stage]);
  }

  __device__ void wait_for_peer(Stage stage, int peer, std::uint32_t behind) const {
    const WaitPhase phase = stage == kSent ? WaitPhase::sent : WaitPhase::finished;
    wait_for_count(&own_.arrived[stage][blockIdx.x][peer], bound_,
                   Awaited{phase, peer, counted_[stage] - behind});
  }

  const PeerSteps& peers_;
  Control& own_;
  const WaitBound& bound_;
  std::uint32_t operations_;
  std::uint32_t counted_[kStages];
  std::int64_t buffers_;
};

/// The data as a share for each rank: of `pitch` vectors of 16 bytes, or what is left. The pitch,
/// in whole lines, is that of the largest operation, so that all that share scratch have the same.
template <int kRanks>
class Shares {
 public:
  __device__ explicit Shares(const AllReduceArguments& arguments)
      : items_(arguments.items),
        pitch_(static_cast<std::uint32_t>(
            whole_lines(divide_up(std::int64_t{arguments.layout}, kRanks)))) {}

  __device__ std::int64_t pitch() const { return pitch_; }
  __device__ std::int64_t first_of(int share) const {
    return std::int64_t{pitch_} * static_cast<std::uint32_t>(share);
  }
  __device__ std::uint32_t count_of(int share) const {
    std::int64_t left = std::int64_t{items_} - first_of(share);
    if constexpr (kMutant == Mutant::wrong_share_end) --left;
    return static_cast<std::uint32_t>(min(max(left, std::int64_t{0}), pitch()));
  }
  /// Returns the chunks of a share, with so many vectors for each thread.
  __device__ std::uint32_t chunks(int vectors) const {
    return divide_up(pitch_, blockDim.x * vectors);
  }

 private:
  // They have 32 bits, as their products then take fewer registers.
  std::uint32_t items_;
  std::uint32_t pitch_;
};

}  // namespace linkgain::kernels

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/memory_order.cuh"
#include "kernels/common/mutant.hpp"
#include "kernels/common/wait.cuh"
#include "kernels/peer/peer_regions.hpp"

// How the blocks of a kernel that works across ranks keep step with their counterparts, the blocks
// of the same number on the other ranks.

namespace linkgain::kernels {

inline constexpr std::int64_t kAlignment = 128;

/// Which stage of an operation a rank has come to in a block; see Control.
enum Stage { kSent, kFinished, kStages };

/// At the start of scratch. Counters grow from operation to operation. Each block has its own, so
/// that none has to wait for another one of its rank.
struct alignas(kAlignment) Control {
  /// What this rank has counted up to in a block, by stage; and operations, for the set of buffers.
  std::uint32_t counted[kMostBlocks][kStages];
  std::uint32_t operations[kMostBlocks];
  /// What the others have, written by them.
  std::uint32_t arrived[kStages][kMostBlocks][kMostRanks];
};

/// Returns what lies at an offset of a region.
template <typename T>
__device__ T* at(void* region, std::int64_t offset) {
  return reinterpret_cast<T*>(static_cast<char*>(region) + offset);
}

/// Bytes before the buffers in a rank's scratch.
inline constexpr std::int64_t kControlBytes = sizeof(Control);

__device__ inline Control* control_of(const PeerSteps::Region& region) {
  return static_cast<Control*>(region.scratch);
}

inline constexpr int kBufferSets = kMutant == Mutant::one_buffer_set ? 1 : 2;

/// What this rank knows of one block, from operation to operation. There are two sets of buffers in
/// turn: whoever sends in operation k+2 has seen everybody's data of k+1, whose senders were then
/// done with k.
class BlockSignals {
 public:
  /// Reads the block's state. Both must outlive it.
  __device__ BlockSignals(const PeerSteps& peers, const WaitBound& bound)
      : peers_(peers),
        own_(*control_of(peers.by_step[0])),
        bound_(bound),
        operations_(own_.operations[blockIdx.x]),
        counted_{own_.counted[blockIdx.x][kSent], own_.counted[blockIdx.x][kFinished]} {}

  __device__ std::uint32_t set() const { return operations_ % kBufferSets; }
  /// Returns the flag, never 0, which is what fresh buffers hold.
  __device__ std::uint32_t flag() const { return operations_ + 1; }
  /// Returns the packet of this operation that `peer` sends.
  __device__ Awaited awaits_packet_of(int peer) const { return {WaitPhase::packet, peer, flag()}; }

  /// Signals to every other rank's counterpart that what the block has written so far is there, for
  /// whoever waits until it has counted one more. All threads must call it; only some are held up.
  template <int kRanks>
  __device__ void signal(Stage stage) {
    ++counted_[stage];
    __syncthreads();
    const unsigned step = threadIdx.x;
    if (step > 0 && step < kRanks) store_count(static_cast<int>(step), stage);
  }

  /// Waits until every other rank's counterpart has signalled `behind` less than this one has.
  template <int kRanks>
  __device__ void wait(Stage stage, std::uint32_t behind = 0) {
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
  __device__ void wait_for_one(Stage stage, int peer, std::uint32_t behind = 0) {
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
};

/// Returns where the set in use begins in scratch, with `places` of 16 bytes for all senders
/// together.
__device__ inline std::int64_t buffers_of(const BlockSignals& state, std::int64_t places) {
  constexpr std::int64_t kPlaceBytes = 16;
  return kControlBytes + (state.set() == 0 ? 0 : places * kPlaceBytes);
}

}  // namespace linkgain::kernels

#pragma once

#include <cstdint>
#include <optional>

#include "linkgain/cases/case.hpp"

namespace linkgain {

/// What one rank puts in and ends up with in one operation; 0 where it has none. In place both are
/// parts of one buffer, which begin at these offsets; else the offsets are 0.
struct RankBuffers {
  Bytes input{};
  Bytes output{};
  Bytes input_offset{};
  Bytes output_offset{};
  bool operator==(const RankBuffers&) const = default;
};

/// Returns the sizes of a rank's buffers by NCCL's documentation: with S the size and n the ranks,
/// all_gather and gather put in S/n of each rank, reduce_scatter and scatter end up with S/n on
/// each; only gather's root has an output and only scatter's root an input. All else is S. In place
/// a rank's part is that of its number within the whole. Only the root of a reduce gets data into
/// its output, but all have one. All of an all_to_one but the root put in S, which lie in its
/// output one after the other by rank.
RankBuffers rank_buffers(const Case& c, int rank);

/// One slot of a rank's pools: of inputs and of outputs, or in place of one pool for both, the
/// first. 0: no pool. Slots start on a cache line of their own. Symmetric buffers, and those that
/// other ranks reach, are alike on all ranks.
struct SlotBytes {
  std::int64_t first = 0;
  std::int64_t second = 0;
  bool operator==(const SlotBytes&) const = default;
};
SlotBytes slot_bytes(const Case& c, int rank);

/// The pools of equal slots through which successive operations rotate, so that data is not found
/// in the cache unless the pools are too small to prevent it. The same on all ranks.
struct BufferPlan {
  std::int64_t slots = 1;
  int operations_per_slot = 1;   ///< before the next slot's turn; 2 for ping_pong, which goes both
                                 ///< ways; many of a latency, which one launch does
  int operations_per_graph = 0;  ///< 0: not launched as a graph
  /// Copies of the weights of the product before an operation, in turn; 0: no product.
  std::int64_t weights = 0;
  bool cold = false;  ///< a slot is used again only after twice the cache, on all ranks
  /// In the memory of GPUs slots begin this many bytes apart at least.
  std::int64_t least_stride = 0;

  /// Returns operations that can only be launched together.
  std::int64_t granularity() const {
    return operations_per_graph > 0 ? operations_per_graph : operations_per_slot;
  }
};

/// Slots and operations in a graph (0 where none is launched) chosen by the caller. Operations of a
/// graph beyond the slots go over them again; what they leave in place is then not to be verified.
struct Rotation {
  std::int64_t slots = 1;
  int operations_per_graph = 0;
};

/// Plans slots until the pools of every rank hold twice `cache`, if a sample's batch is long enough
/// to walk them; the rotation goes on from batch to batch, so that every variant walks all of them
/// and finds its data cold. For smaller sizes as many slots as a graph has, and the data is warm. A
/// graph's buffers are fixed when it is captured: it has 64 MiB worth of operations, 1 to
/// kMostOperationsPerGraph, and the slots for them, and is cold where these exceed twice the cache.
/// Warm slots of small operations are distributed over a pool of 64 MiB: a time that depends on
/// where in a GPU's memory its buffers lie is then that of many places, not of one. Where ranks
/// differ too much (a gather over more than eight), the pools of the largest decide how many slots
/// there are. Weights are read cold: their copies hold twice the cache. `fixed` overrides the
/// choice of slots, which then lie side by side. No choice depends on the variant, nor on who works
/// on the slots.
BufferPlan plan_buffers(const Case& c, Bytes cache, const std::optional<Rotation>& fixed = {});

/// Returns bytes of the weights of one product, and of what it multiplies them with; 0 where the
/// case has no hidden.
Bytes weight_bytes(const Case& c);
Bytes activation_bytes(const Case& c);

/// Returns bytes from slot to slot of pools in the memory of GPUs; 0 where there is no pool.
SlotBytes slot_strides(const Case& c, const BufferPlan& plan, int rank);

/// Returns bytes of all pools of the rank that needs most, in the memory of its GPU.
std::int64_t most_bytes(const Case& c, const BufferPlan& plan);
/// Returns the bytes of all ranks together in CPU memory, if slots are not distributed.
std::int64_t total_bytes(const Case& c, const BufferPlan& plan);

inline constexpr int kMostOperationsPerGraph = 64;

/// What a cache is taken for at most. GPUs' are smaller; processors' that are larger are shared by
/// more cores than a job has ranks, and filling twice all of it for every case would take longer
/// than measuring.
inline constexpr Bytes kLargestCache{std::int64_t{128} << 20};

}  // namespace linkgain

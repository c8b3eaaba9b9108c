#pragma once

#include <cstdint>
#include <optional>

#include "linkgain/core/case.hpp"

namespace linkgain {

/// The buffers of a case on one rank: a pool of equal slots through which successive operations
/// rotate, so that data is not found in the cache unless the pool is too small to prevent it.
struct BufferPlan {
  std::int64_t slot_bytes = 0;  ///< distance between slots of one pool
  std::int64_t slots = 1;
  int pools = 2;                 ///< input and output, or one in place
  int operations_per_graph = 0;  ///< 0: not launched as a graph
  bool cold = false;             ///< a slot comes round again only after twice the cache

  std::int64_t total_bytes() const { return slot_bytes * slots * pools; }
};

/// Slots and operations in a graph (0 where none is launched) chosen by the caller. Operations of a
/// graph beyond the slots go over them again; what they leave in place is then not to be verified.
struct Rotation {
  std::int64_t slots = 1;
  int operations_per_graph = 0;
};

/// Where a sample's batch is long enough to walk them, slots until all pools together hold twice
/// `cache`; the rotation goes on from batch to batch, so that every variant walks all of them and
/// finds its data cold. For smaller sizes a few slots, and the data is warm. A graph's buffers are
/// fixed when it is captured: it has as many slots as operations, 64 MiB worth of them and 1 to
/// kMostOperationsPerGraph, and is cold where these exceed twice the cache.
/// `fixed` overrides the choice of slots.
BufferPlan plan_buffers(const Case& c, Bytes cache, const std::optional<Rotation>& fixed = {});

inline constexpr int kMostOperationsPerGraph = 64;

/// What a cache is taken for at most. GPUs' are smaller; processors' that are larger are shared by
/// more cores than a job has ranks, and filling twice all of it for every case would take longer
/// than measuring.
inline constexpr Bytes kLargestCache{std::int64_t{128} << 20};

}  // namespace linkgain

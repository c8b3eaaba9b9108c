#include "linkgain/core/buffer_plan.hpp"

#include <algorithm>

namespace linkgain {
namespace {

/// Slots start on a cache line of their own.
constexpr std::int64_t kAlignment = 128;
constexpr std::int64_t kGraphBytes = std::int64_t{64} << 20;
/// A sample of 5 ms holds about as many of the shortest operations. It depends on the size alone,
/// so that all variants of a case find their data in the same place.
constexpr std::int64_t kMostWalked = 512;
/// Successive operations on warm data still use different buffers, as other benchmarks' do.
constexpr std::int64_t kWarmSlots = 16;

}  // namespace

BufferPlan plan_buffers(const Case& c, Bytes cache, const std::optional<Rotation>& fixed) {
  BufferPlan plan;
  plan.slot_bytes = (c.size.value + kAlignment - 1) / kAlignment * kAlignment;
  plan.pools = c.in_place ? 1 : 2;
  const std::int64_t per_slot = plan.slot_bytes * plan.pools;
  if (fixed) {
    plan.slots = fixed->slots;
    plan.operations_per_graph = fixed->operations_per_graph;
  } else if (c.launch == LaunchMode::graph) {
    plan.operations_per_graph = static_cast<int>(
        std::clamp<std::int64_t>(kGraphBytes / c.size.value, 1, kMostOperationsPerGraph));
    plan.slots = plan.operations_per_graph;
  } else {
    const std::int64_t cold_slots = (2 * cache.value + per_slot - 1) / per_slot;
    plan.slots = cold_slots <= kMostWalked ? std::max<std::int64_t>(1, cold_slots) : kWarmSlots;
  }
  plan.cold = plan.slots * per_slot >= 2 * cache.value;
  return plan;
}

}  // namespace linkgain

#include "linkgain/cases/buffer_plan.hpp"

#include <algorithm>
#include <stdexcept>

namespace linkgain {
namespace {

constexpr std::int64_t kAlignment = 128;
constexpr std::int64_t kGraphBytes = std::int64_t{64} << 20;
/// A sample of 3 ms holds about as many of the shortest operations. It depends on the size alone,
/// so that all variants of a case find their data in the same place.
constexpr std::int64_t kMostWalked = 512;
/// A pool of small operations, over which their slots are distributed.
constexpr std::int64_t kSmallPoolBytes = kGraphBytes;
/// The largest rank's pools over the smallest's at most, so that all data is cold: that of a gather
/// over eight ranks. With more the largest would need more memory than cold data is worth.
constexpr std::int64_t kMostUneven = 9;

std::int64_t aligned(std::int64_t bytes) { return round_up(bytes, kAlignment); }

/// Rounds up to an odd number of cache lines: slots so far apart do not share the low bits of their
/// addresses.
std::int64_t odd_lines(std::int64_t bytes) {
  return bytes / kAlignment / 2 * 2 * kAlignment + kAlignment;
}

/// What one launch of a latency's kernel does, so that starting it weighs nothing.
constexpr int kLatencyOperations = 1024;

int operations_per_slot(OperationKind operation) {
  if (operation == OperationKind::ping_pong) return 2;
  return is_latency(operation) ? kLatencyOperations : 1;
}

std::int64_t both(const SlotBytes& bytes) { return bytes.first + bytes.second; }

/// Returns a rank with fewer buffers than the root, where there is such a one.
int rank_beside_root(const Case& c) { return c.root == 0 ? 1 : 0; }

RankBuffers out_of_place(const Case& c, int rank) {
  const Bytes whole = c.size;
  const Bytes part{c.size.value / c.ranks};
  switch (c.operation) {
    case OperationKind::all_reduce:
    case OperationKind::broadcast:
    case OperationKind::reduce:
    case OperationKind::alltoall:
    case OperationKind::send_recv:
    case OperationKind::ping_pong:
    case OperationKind::copy_push:
    case OperationKind::copy_pull:
    case OperationKind::latency:
    case OperationKind::load_latency:
    case OperationKind::host_to_device:
    case OperationKind::device_to_host:
    case OperationKind::product_norm:
      return {.input = whole, .output = whole};
    case OperationKind::all_to_one:
      return {.input = whole, .output = rank == c.root ? Bytes{c.size.value * c.ranks} : Bytes{}};
    case OperationKind::one_to_all:
      return {.input = rank == c.root ? whole : Bytes{}, .output = whole};
    case OperationKind::all_gather:
      return {.input = part, .output = whole};
    case OperationKind::reduce_scatter:
      return {.input = whole, .output = part};
    case OperationKind::gather:
      return {.input = part, .output = rank == c.root ? whole : Bytes{}};
    case OperationKind::scatter:
      return {.input = rank == c.root ? whole : Bytes{}, .output = part};
    case OperationKind::gpt2_step:
    case OperationKind::program:
      return {};  // has a model, or whatever it is, instead of buffers
  }
  throw std::invalid_argument("no such operation");
}

}  // namespace

RankBuffers rank_buffers(const Case& c, int rank) {
  RankBuffers buffers = out_of_place(c, rank);
  if (!c.in_place) return buffers;
  if (buffers.input.value > 0 && buffers.input < buffers.output) {
    buffers.input_offset.value = rank * buffers.input.value;
  }
  if (buffers.output.value > 0 && buffers.output < buffers.input) {
    buffers.output_offset.value = rank * buffers.output.value;
  }
  return buffers;
}

SlotBytes slot_bytes(const Case& c, int rank) {
  // The root has all that any rank has.
  const bool alike = c.buffers == Buffers::symmetric || works_on_memory(c.operation);
  const RankBuffers buffers = rank_buffers(c, alike ? c.root : rank);
  if (c.in_place) return {.first = aligned(std::max(buffers.input, buffers.output).value)};
  return {.first = aligned(buffers.input.value), .second = aligned(buffers.output.value)};
}

BufferPlan plan_buffers(const Case& c, Bytes cache, const std::optional<Rotation>& fixed) {
  BufferPlan plan;
  plan.operations_per_slot = operations_per_slot(c.operation);
  const std::int64_t most = both(slot_bytes(c, c.root));
  const std::int64_t least = both(slot_bytes(c, rank_beside_root(c)));
  if (fixed) {
    plan.slots = fixed->slots;
    plan.operations_per_graph = fixed->operations_per_graph;
  } else if (c.launch == LaunchMode::graph) {
    const auto operations =
        std::clamp<std::int64_t>(kGraphBytes / c.size.value, 1, kMostOperationsPerGraph);
    plan.slots = std::max<std::int64_t>(1, operations / plan.operations_per_slot);
    plan.operations_per_graph = static_cast<int>(plan.slots) * plan.operations_per_slot;
  } else {
    const std::int64_t per_slot = most <= kMostUneven * least ? least : most;
    const std::int64_t cold_slots = divide_up(2 * cache.value, per_slot);
    plan.slots = cold_slots * plan.operations_per_slot <= kMostWalked
                     ? std::max<std::int64_t>(1, cold_slots)
                     : kMostOperationsPerGraph;
    // A launch stays in one slot: others would only take memory.
    if (plan.operations_per_slot == kLatencyOperations) plan.slots = 1;
  }
  if (c.hidden != 0) plan.weights = divide_up(2 * cache.value + 1, weight_bytes(c).value);
  plan.cold = plan.slots * least >= 2 * cache.value;
  const bool distributed = !fixed && !plan.cold && plan.slots > 1 && c.size < kLaunchBoundBelow;
  if (distributed) plan.least_stride = odd_lines(kSmallPoolBytes / plan.slots);
  return plan;
}

Bytes weight_bytes(const Case& c) {
  return {c.hidden == 0 ? 0 : product_inner(c) * c.hidden * size_of(c.type)};
}

Bytes activation_bytes(const Case& c) {
  if (c.hidden == 0) return {};
  return {c.tokens() * std::max<std::int64_t>(product_inner(c), c.hidden) * size_of(c.type)};
}

SlotBytes slot_strides(const Case& c, const BufferPlan& plan, int rank) {
  const auto stride = [&](std::int64_t slot) {
    return slot == 0 ? 0 : std::max(slot, plan.least_stride);
  };
  const SlotBytes slot = slot_bytes(c, rank);
  return {.first = stride(slot.first), .second = stride(slot.second)};
}

std::int64_t most_bytes(const Case& c, const BufferPlan& plan) {
  // What ranks leave each other for one of our kernels, in two sets of buffers.
  const bool leaves_messages = c.kernel && !is_copy(c.operation);
  const std::int64_t messages = leaves_messages ? 2 * c.size.value : 0;
  const std::int64_t product = weight_bytes(c).value * plan.weights + activation_bytes(c).value;
  return both(slot_strides(c, plan, c.root)) * plan.slots + messages + product;
}

std::int64_t total_bytes(const Case& c, const BufferPlan& plan) {
  const std::int64_t others = both(slot_bytes(c, rank_beside_root(c))) * (c.ranks - 1);
  return (both(slot_bytes(c, c.root)) + others) * plan.slots;
}

}  // namespace linkgain

#include "peer/pools.hpp"

#include <algorithm>

#include "nccl/device_api.hpp"

namespace linkgain {
namespace {

std::vector<SlotPools> pools_of_all(const Case& c, const BufferPlan& plan) {
  std::vector<SlotPools> pools;
  for (int rank = 0; rank < c.ranks; ++rank) pools.emplace_back(c, plan, rank);
  return pools;
}

/// Alike on all ranks, as windows must be.
Bytes largest(const std::vector<SlotPools>& pools) {
  Bytes most{};
  for (const SlotPools& each : pools) {
    most = std::max(most, Bytes{each.first_size().value + each.second_size().value});
  }
  return most;
}

}  // namespace

PeerPools::PeerPools(const Case& c, const BufferPlan& plan, const NcclContext& context,
                     Session& session, Bytes scratch, bool through_host)
    : context_(context),
      slots_(pools_of_all(c, plan)),
      memory_(session, context, largest(slots_), scratch,
              PeerRoad{through_host, device_api_problem()}) {}

void PeerPools::join() {
  memory_.join();
  for (int rank = 0; rank < memory_.regions().ranks; ++rank) set_memory(rank);
}

void PeerPools::set_memory(int rank) {
  auto* first = static_cast<char*>(memory_.regions().data[rank]);
  if (first == nullptr) return;
  SlotPools& pools = slots_[static_cast<std::size_t>(rank)];
  pools.set_memory(first, first + pools.first_size().value);
}

}  // namespace linkgain

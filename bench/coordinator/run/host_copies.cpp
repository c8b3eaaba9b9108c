#include "host_copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace linkgain {
namespace {

/// Keeps of each GPU's PCIe link what is more: an idle GPU may have trained it down.
void keep_highest_links(const Machine& seen, Machine& machine) {
  for (std::size_t i = 0; i < std::min(seen.ranks.size(), machine.ranks.size()); ++i) {
    const std::optional<GpuInfo>& busy = seen.ranks[i].gpu;
    std::optional<GpuInfo>& kept = machine.ranks[i].gpu;
    if (!busy || !kept) continue;
    kept->pcie_generation = std::max(kept->pcie_generation, busy->pcie_generation);
    kept->pcie_width = std::max(kept->pcie_width, busy->pcie_width);
  }
}

}  // namespace

bool has_host_copies(const Machine& machine) {
  return std::any_of(machine.ranks.begin(), machine.ranks.end(),
                     [](const RankInfo& rank) { return rank.host_copy.has_value(); });
}

void read_host_copies(Job& job, Seconds deadline, Machine& machine, RunObserver& observer) {
  try {
    const auto rates = job.host_copy(deadline);
    for (std::size_t i = 0; i < std::min(rates.size(), machine.ranks.size()); ++i) {
      machine.ranks[i].host_copy = rates[i];
    }
  } catch (const JobRefused& refusal) {
    observer.warn(
        {"no-host-copy",
         fmt::format("the rate of pinned host copies was not measured: {}", refusal.what()),
         refusal.advice()});
  }
  if (!has_host_copies(machine)) return;
  try {
    keep_highest_links(job.hello(deadline).machine, machine);
  } catch (const JobRefused& refusal) {
    observer.warn(
        {"idle-pcie-links",
         fmt::format("PCIe links were read while GPUs were idle alone: {}", refusal.what()),
         refusal.advice()});
  }
}

}  // namespace linkgain

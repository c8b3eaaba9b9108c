#include "linkgain/coordinator/host_copies.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkgain {

bool has_host_copies(const Machine& machine) {
  return std::any_of(machine.ranks.begin(), machine.ranks.end(),
                     [](const RankInfo& rank) { return rank.host_copy.has_value(); });
}

void read_host_copies(Job& job, Seconds deadline, Machine& machine,
                      const std::function<void(const Warning&)>& warn) {
  try {
    const auto rates = job.host_copy(deadline);
    for (std::size_t i = 0; i < std::min(rates.size(), machine.ranks.size()); ++i) {
      machine.ranks[i].host_copy = rates[i];
    }
  } catch (const JobRefused& refusal) {
    warn({"no-host-copy",
          fmt::format("the rate of pinned host copies was not measured: {}", refusal.what()),
          refusal.advice()});
  }
}

}  // namespace linkgain

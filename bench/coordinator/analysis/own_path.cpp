#include "linkgain/analysis/own_path.hpp"

#include <algorithm>
#include <vector>

namespace linkgain {
namespace {

bool joins(const Case& c, const PairLink& link) {
  if (!c.pair) return true;
  const bool there = link.from == c.pair->from && link.to == c.pair->to;
  return there || (link.from == c.pair->to && link.to == c.pair->from);
}

}  // namespace

std::optional<Path> own_path(const Machine& machine, const Case& c, const Execution& execution) {
  if (!execution.through_host) return std::nullopt;
  if (*execution.through_host) return Path::host_memory;
  std::vector<PairLink> used;
  for (const PairLink& link : machine.links) {
    if (joins(c, link)) used.push_back(link);
  }
  if (const auto nvlink = same_for_all_pairs(used, &PairLink::nvlink)) {
    return *nvlink ? Path::nvlink : Path::pcie_p2p;
  }
  const bool known = !used.empty() && std::all_of(used.begin(), used.end(), [](const PairLink& l) {
    return l.nvlink.has_value();
  });
  return known ? Path::mixed : Path::unknown;
}

}  // namespace linkgain

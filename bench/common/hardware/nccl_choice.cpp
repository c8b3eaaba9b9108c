#include "linkgain/hardware/nccl_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "linkgain/hardware/nccl_environment.hpp"

namespace linkgain {
namespace {

/// Returns the reach of a value of NCCL_P2P_LEVEL, as NCCL reads it: a path type, or a number of
/// old; absent for another word, which NCCL passes over.
std::optional<P2pReach> reach_of(const std::string& level) {
  struct Row {
    std::string_view name;
    P2pReach reach;
  };
  using enum P2pReach;
  static constexpr std::array kRows = std::to_array<Row>({{"LOC", none},
                                                          {"NVL", nvlink},
                                                          {"NVB", nvlink},
                                                          {"C2C", nvlink},
                                                          {"PIX", pix},
                                                          {"PXB", pxb},
                                                          {"P2C", pxb},
                                                          {"PXN", pxb},
                                                          {"PHB", phb},
                                                          {"SYS", sys}});
  const auto* const row = std::ranges::find(kRows, level, &Row::name);
  if (row != kRows.end()) return row->reach;
  if (level.empty() || level.front() < '0' || level.front() > '9') return std::nullopt;
  static constexpr std::array kOld{none, pix, pxb, phb, sys};
  const long number = std::strtol(level.c_str(), nullptr, 0);
  return kOld[static_cast<std::size_t>(std::clamp(number, 0L, 4L))];
}

/// Returns the reach that P2P between two devices takes. The host bridges of one NUMA node are one
/// CPU to NCCL.
P2pReach reach_to(Ancestor ancestor) {
  switch (ancestor) {
    case Ancestor::self:
    case Ancestor::pix:
      return P2pReach::pix;
    case Ancestor::pxb:
      return P2pReach::pxb;
    case Ancestor::phb:
    case Ancestor::node:
      return P2pReach::phb;
    case Ancestor::sys:
      break;
  }
  return P2pReach::sys;
}

/// Says where two GPUs meet: "they meet at the CPU (PHB: root ports 0000:00:01.1 and
/// 0000:00:03.1)".
std::string place_of(const Topology& topology, const TopologyPair& pair) {
  const Ancestor ancestor = pair.ancestor.value();
  std::string label(name_of(ancestor));
  if (reach_to(ancestor) <= P2pReach::pxb) {
    return fmt::format("PCIe switches alone join them ({})", label);
  }
  const auto& from = topology.gpus[static_cast<std::size_t>(pair.from)].path;
  const auto& to = topology.gpus[static_cast<std::size_t>(pair.to)].path;
  if (from.size() > 1 && to.size() > 1) {
    label += fmt::format(": root ports {} and {}", from.back().pci_bus_id, to.back().pci_bus_id);
  }
  return ancestor == Ancestor::sys ? fmt::format("they are on two CPUs ({})", label)
                                   : fmt::format("they meet at the CPU ({})", label);
}

/// Counts the GPUs that CUDA sees, or all where it sees none or that is not known.
int gpus_of_a_job(const Topology& topology) {
  const auto visible = std::ranges::count_if(
      topology.gpus, [](const TopologyGpu& gpu) { return gpu.cuda_index.measured(); });
  return static_cast<int>(visible > 0 ? visible : std::ssize(topology.gpus));
}

NcclChoice judge_distance(const Topology& topology, const TopologyPair& pair,
                          const P2pLimit& limit) {
  const std::string place = place_of(topology, pair);
  const P2pReach needed = reach_to(pair.ancestor.value());
  if (needed <= limit.reach && !limit.set_by.empty()) {
    return {NcclChoice::Path::pcie, fmt::format("{}, within {}", place, limit.set_by)};
  }
  if (needed <= P2pReach::pxb && needed <= limit.reach) {
    return {NcclChoice::Path::pcie, place};
  }
  if (needed <= limit.reach) {
    return {NcclChoice::Path::pcie,
            place + ", which NCCL crosses for a job of two GPUs on AMD CPUs"};
  }
  if (!limit.set_by.empty()) {
    return {NcclChoice::Path::host_memory, fmt::format("{}, beyond {}", place, limit.set_by), true};
  }
  return {NcclChoice::Path::host_memory,
          place +
              ", and NCCL's default is P2P through PCIe switches alone (PXB); NCCL_P2P_LEVEL=SYS "
              "allows it",
          true, topology.has_amd_cpu};
}

}  // namespace

P2pLimit p2p_limit(const P2pVariables& variables, bool has_amd_cpu, int gpus) {
  if (variables.disable && forbids_p2p("NCCL_P2P_DISABLE", *variables.disable)) {
    return {P2pReach::none, "NCCL_P2P_DISABLE=" + *variables.disable};
  }
  if (const auto reach = reach_of(variables.level.value_or(""))) {
    return {*reach, "NCCL_P2P_LEVEL=" + *variables.level};
  }
  return {has_amd_cpu && gpus <= 2 ? P2pReach::sys : P2pReach::pxb};
}

NcclChoice nccl_choice(const Topology& topology, const TopologyPair& pair,
                       const P2pVariables& variables) {
  const P2pRefusal refusal = p2p_refusal(topology, pair);
  if (!refusal.why_not.empty()) {
    return {NcclChoice::Path::host_memory, "the driver refuses P2P"};
  }
  if (!refusal.unknown.empty()) return {NcclChoice::Path::unknown, refusal.unknown};
  const P2pLimit limit = p2p_limit(variables, topology.has_amd_cpu, gpus_of_a_job(topology));
  const std::optional<bool> joined = joined_by_nvlink(pair);
  if (!joined) return {NcclChoice::Path::unknown, pair.nvlinks.reason()};
  if (limit.reach == P2pReach::none) {
    return {NcclChoice::Path::host_memory, fmt::format("{} forbids P2P", limit.set_by), true};
  }
  if (*joined) return {NcclChoice::Path::nvlink, label_of(pair)};
  if (!pair.ancestor.measured()) return {NcclChoice::Path::unknown, pair.ancestor.reason()};
  return judge_distance(topology, pair, limit);
}

std::string text_of(const NcclChoice& choice, const std::string& between) {
  switch (choice.path) {
    case NcclChoice::Path::nvlink:
      return fmt::format("P2P over NVLink{} ({})", between, choice.why);
    case NcclChoice::Path::pcie:
      return fmt::format("P2P over PCIe{}: {}", between, choice.why);
    case NcclChoice::Path::host_memory:
      return fmt::format(
          "the path through host memory{}: {}{}", between, choice.why,
          choice.is_of_two_gpus ? "; jobs of two GPUs take PCIe, as the CPU is AMD's" : "");
    case NcclChoice::Path::unknown:
      break;
  }
  return fmt::format("a path that is not known{}: {}", between, choice.why);
}

}  // namespace linkgain

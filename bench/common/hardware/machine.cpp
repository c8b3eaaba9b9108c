#include "linkgain/hardware/machine.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "linkgain/base/text.hpp"

namespace linkgain {

std::string_view readable_path(Path path) {
  static constexpr std::array<Named<Path>, 8> kPaths{{
      {Path::nvlink, "NVLink"},
      {Path::pcie_p2p, "PCIe P2P"},
      {Path::p2p, "P2P, link not seen"},
      {Path::host_memory, "host memory"},
      {Path::network, "network"},
      {Path::engine, "engine's own kernels"},
      {Path::mixed, "mixed"},
      {Path::unknown, "unknown"},
  }};
  return std::ranges::find(kPaths, path, &Named<Path>::value)->name;
}

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

void require_driver_for(std::string_view built, std::string_view driver) {
  const auto major = [](std::string_view version) {
    return whole_number<int>(version.substr(0, version.find('.')));
  };
  const std::optional<int> needed = major(built);
  const std::optional<int> has = major(driver);
  if (!needed || !has || *has >= *needed) return;
  // The first driver of each major version, by the same table.
  static constexpr std::array<std::pair<int, std::string_view>, 3> kFirstDrivers{
      {{11, "450"}, {12, "525"}, {13, "580"}}};
  const auto* const first =
      std::ranges::find(kFirstDrivers, *needed, &std::pair<int, std::string_view>::first);
  const std::string newer =
      first == kFirstDrivers.end() ? "newer" : fmt::format("{} or later", first->second);
  throw MachineError(
      fmt::format("the NVIDIA driver is for CUDA {} at most, this build of linkgain for CUDA {}",
                  driver, built),
      fmt::format("update the driver to {}, or build linkgain with CUDA {}", newer, *has));
}

MachineError without_two_gpus(std::string_view reason, std::string_view advice) {
  return MachineError(
      fmt::format("the nccl backend needs two GPUs: {}", reason),
      fmt::format("{}, or measure MPI in CPU memory with --backend mpi",
                  advice.empty() ? "check `nvidia-smi -L` and CUDA_VISIBLE_DEVICES" : advice));
}

std::optional<double> nvlink_total(const GpuInfo& gpu) {
  if (gpu.nvlink_links_active.value_or(0) <= 0) return std::nullopt;
  if (gpu.nvlink_total_gb_per_s || !gpu.nvlink_rate_gb_per_s) return gpu.nvlink_total_gb_per_s;
  return *gpu.nvlink_links_active * *gpu.nvlink_rate_gb_per_s;
}

bool has_links_down(const GpuInfo& gpu) {
  if (!gpu.nvlink_links || !gpu.nvlink_links_active) return false;
  const int active = *gpu.nvlink_links_active;
  return active < *gpu.nvlink_links && !are_all_of_bridges(gpu.name, active, *gpu.nvlink_links);
}

std::string nvlinks_text(const GpuInfo& gpu, std::string_view of) {
  if (gpu.nvlink_links.value_or(0) == 0) return {};
  const int possible = *gpu.nvlink_links;
  if (!gpu.nvlink_links_active) return fmt::format("?{}{}", of, possible);
  const int active = *gpu.nvlink_links_active;
  return are_all_of_bridges(gpu.name, active, possible)
             ? std::to_string(active)
             : fmt::format("{}{}{}", active, of, possible);
}

bool has_unequal_nvlinks(const GpuInfo& gpu) {
  const std::optional<double> total = nvlink_total(gpu);
  if (!total || !gpu.nvlink_rate_gb_per_s) return false;
  constexpr double kRounding = 1e-6;
  return *total > *gpu.nvlink_links_active * *gpu.nvlink_rate_gb_per_s * (1.0 + kRounding);
}

namespace {

GpuInfo gpu_of(const TopologyGpu& gpu) {
  GpuInfo info;
  info.cuda_index = gpu.index;
  info.name = gpu.name;
  info.uuid = gpu.uuid;
  info.pci_bus_id = gpu.pci_bus_id;
  info.nvlink_version = gpu.nvlink.version.optional();
  info.nvlink_links = gpu.nvlink.possible.optional();
  info.nvlink_links_active = gpu.nvlink.active.optional();
  info.nvlink_rate_gb_per_s = gpu.nvlink.rate_gb_per_s.optional();
  info.nvlink_total_gb_per_s = rate_of(gpu.nvlink).optional();
  info.pcie_generation = gpu.pcie.generation.optional();
  info.pcie_width = gpu.pcie.width.optional();
  return info;
}

}  // namespace

Machine machine_of(const Topology& topology) {
  Machine machine;
  machine.host = topology.host;
  for (std::size_t i = 0; i < topology.gpus.size(); ++i) {
    RankInfo& rank = machine.ranks.emplace_back();
    rank.rank = static_cast<int>(i);
    rank.host = topology.host;
    rank.cpus = topology.gpus[i].cpus.value_or("");
    rank.gpu = gpu_of(topology.gpus[i]);
  }
  for (const TopologyPair& pair : gpu_pairs(topology)) {
    const P2pRefusal refusal = p2p_refusal(topology, pair);
    PairLink& link = machine.links.emplace_back();
    link.from = pair.from;
    link.to = pair.to;
    if (!refusal.why_not.empty() || refusal.unknown.empty()) link.p2p = refusal.why_not.empty();
    link.nvlink = joined_by_nvlink(pair);
    link.ancestor = pair.ancestor.optional();
    link.nvlinks = pair.nvlinks.optional();
  }
  return machine;
}

bool same_gpus(const Machine& a, const Machine& b) {
  const auto same = [](const RankInfo& one, const RankInfo& other) {
    if (one.host != other.host || one.gpu.has_value() != other.gpu.has_value()) return false;
    return !one.gpu || one.gpu->pci_bus_id == other.gpu->pci_bus_id;
  };
  return std::equal(a.ranks.begin(), a.ranks.end(), b.ranks.begin(), b.ranks.end(), same);
}

bool on_one_host(const Machine& machine) {
  return std::ranges::all_of(
      machine.ranks, [&](const RankInfo& rank) { return rank.host == machine.ranks.front().host; });
}

std::string label_of(const PairLink& link) {
  return pair_label(link.nvlinks, link.nvlink, link.ancestor);
}

const RankInfo* find_rank(const Machine& machine, int rank) {
  const auto found = std::ranges::find(machine.ranks, rank, &RankInfo::rank);
  return found != machine.ranks.end() ? &*found : nullptr;
}

const PairLink* find_link(const Machine& machine, int rank, int other) {
  const auto link = std::ranges::find_if(machine.links, [&](const auto& each) {
    return std::minmax(each.from, each.to) == std::minmax(rank, other);
  });
  return link != machine.links.end() ? &*link : nullptr;
}

std::optional<bool> all_pairs(const std::vector<PairLink>& links, PairQuestion what) {
  if (links.empty()) return std::nullopt;
  bool all = true;
  for (const PairLink& link : links) {
    const std::optional<bool> answer = what(link);
    if (!answer) return std::nullopt;
    all = all && *answer;
  }
  return all;
}

std::optional<bool> same_for_all_pairs(const std::vector<PairLink>& links, PairQuestion what) {
  if (links.empty()) return std::nullopt;
  const std::optional<bool> first = what(links.front());
  const bool same =
      std::ranges::all_of(links, [&](const PairLink& link) { return what(link) == first; });
  return same ? first : std::nullopt;
}

bool refuses_p2p(const Machine& machine) {
  return same_for_all_pairs(machine.links, allows_p2p) == false;
}

std::string gpu_label(const Machine& machine, int rank) {
  const RankInfo* found = find_rank(machine, rank);
  return found != nullptr && found->gpu ? fmt::format("GPU{}", found->gpu->cuda_index)
                                        : fmt::format("rank {}", rank);
}

std::string_view word_for_ranks(const Machine& machine) {
  const bool are_gpus =
      on_one_host(machine) && std::ranges::all_of(machine.ranks, [](const RankInfo& rank) {
        return rank.gpu && rank.gpu->cuda_index == rank.rank;
      });
  return are_gpus && !machine.ranks.empty() ? "GPU" : "rank";
}

std::string describe_ranks(const Machine& machine) {
  if (machine.ranks.empty()) return "no GPUs";
  std::vector<std::pair<std::string, int>> counts;
  for (const RankInfo& rank : machine.ranks) {
    if (!rank.gpu) return fmt::format("{} ranks", machine.ranks.size());
    const std::string name = rank.gpu->name.empty() ? "GPU that does not answer" : rank.gpu->name;
    const auto known = std::ranges::find(counts, name, &std::pair<std::string, int>::first);
    if (known == counts.end()) {
      counts.emplace_back(name, 1);
    } else {
      ++known->second;
    }
  }
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) {
    parts.push_back(count == 1 ? name : fmt::format("{} x {}", count, name));
  }
  return fmt::format("{}", fmt::join(parts, " + "));
}

namespace {

constexpr std::string_view kWithoutP2p = " without P2P";

/// Returns what a number of links stands for if the pair's own were not counted.
std::optional<int> links_of_two(const Machine& machine, const PairLink& link) {
  if (machine.ranks.size() != 2) return std::nullopt;
  const RankInfo* rank = find_rank(machine, link.from);
  if (rank == nullptr || !rank->gpu) return std::nullopt;
  const std::optional<int> active = rank->gpu->nvlink_links_active;
  return active.value_or(0) > 0 ? active : std::nullopt;
}

template <typename T>
bool both_known_and_differ(const std::optional<T>& a, const std::optional<T>& b) {
  return a && b && *a != *b;
}

}  // namespace

std::optional<bool> joined_by_nvlink(const PairLink& link) {
  return joined_by_nvlink(link.nvlinks, link.nvlink);
}

std::optional<bool> allows_p2p(const PairLink& link) { return link.p2p; }

std::string path_label(const PairLink& link) {
  const std::optional<bool> nvlink = joined_by_nvlink(link);
  std::string label;
  if (nvlink.value_or(false)) {
    label = "NVLink";
  } else if (link.ancestor) {
    label = name_of(*link.ancestor);
  } else if (nvlink) {
    label = "no NVLink";
  }
  if (!label.empty() && !link.p2p.value_or(true)) label += kWithoutP2p;
  return label;
}

std::string link_label(const Machine& machine, const PairLink& link) {
  if (!joined_by_nvlink(link).value_or(false)) return path_label(link);
  const std::optional<int> count = link.nvlinks ? link.nvlinks : links_of_two(machine, link);
  if (!count) return path_label(link);
  return fmt::format("NV{}{}", *count, link.p2p.value_or(true) ? "" : kWithoutP2p);
}

bool links_differ(const Machine& machine, const PairLink& link, const Machine& other_machine,
                  const PairLink& other) {
  const std::optional<bool> nvlink = joined_by_nvlink(link);
  const std::optional<bool> other_nvlink = joined_by_nvlink(other);
  if (both_known_and_differ(nvlink, other_nvlink)) return true;
  if (both_known_and_differ(link.p2p, other.p2p)) return true;
  if (nvlink.value_or(false) && other_nvlink.value_or(false)) {
    if (link.nvlinks || other.nvlinks) return both_known_and_differ(link.nvlinks, other.nvlinks);
    return both_known_and_differ(links_of_two(machine, link), links_of_two(other_machine, other));
  }
  // What lies beside NVLink is not the path.
  if (nvlink.value_or(false) || other_nvlink.value_or(false)) return false;
  return both_known_and_differ(link.ancestor, other.ancestor);
}

}  // namespace linkgain

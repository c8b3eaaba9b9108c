#include "linkgain/analysis/program_path.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include "linkgain/telemetry/nccl_log.hpp"

namespace linkgain {
namespace {

/// Judges one of the runs; all together say which GPUs are used, and whether it was all.
NvlinkUse nvlink_use(std::span<const RunEvidence> runs, const RunEvidence& run,
                     std::optional<bool> is_joined, double most) {
  constexpr double kSetUp = 1 << 20;
  const auto floor = static_cast<double>(kNvlinkFloor);
  const std::vector<GpuEvidence> gpus = judged_gpus(runs, run);
  bool is_counted = !gpus.empty();
  double bytes = 0.0;
  for (const GpuEvidence& gpu : gpus) {
    is_counted = is_counted && gpu.traffic.nvlink_sent;
    bytes += static_cast<double>(gpu.traffic.nvlink_sent.value_or(0));
  }
  if (bytes > floor) {
    const bool is_all = nvlink_bytes_in_a_run(runs).value_or(0.0) >= kAllOfTraffic * most;
    return is_all ? NvlinkUse::all : NvlinkUse::part;
  }
  if (!is_counted || is_joined != true || bytes > kSetUp) return NvlinkUse::unseen;
  return bytes == 0.0 || most > floor ? NvlinkUse::none : NvlinkUse::little;
}

/// Returns the links of the pairs that NCCL joined by P2P; none where its log numbers no pair, or
/// one that is not of these GPUs, as older versions do that number ranks.
std::vector<PairLink> links_of_p2p(const Machine& machine, const std::vector<GpuEvidence>& gpus,
                                   const std::vector<NcclConnection>& connections) {
  const auto is_used = [&](int gpu) {
    return std::ranges::count(gpus, gpu, &GpuEvidence::gpu) > 0;
  };
  std::vector<PairLink> links;
  for (const NcclConnection& each : connections) {
    if (!is_by_p2p(each) || !each.from || !each.to) continue;
    const PairLink* const link = find_link(machine, *each.from, *each.to);
    if (link == nullptr || !is_used(link->from) || !is_used(link->to)) return {};
    links.push_back(*link);
  }
  return links;
}

/// Joins the paths of runs; `has_idle`: NVLink stood still in one.
Path path_of_all(const std::vector<Path>& runs, bool has_idle) {
  const auto count = [&](Path path) { return std::ranges::count(runs, path); };
  if (runs.empty()) return Path::unknown;
  if (count(runs.front()) == std::ssize(runs)) return runs.front();
  const bool is_used_in_some = has_idle && count(Path::nvlink) > 0;
  return count(Path::unknown) > 0 && !is_used_in_some ? Path::unknown : Path::mixed;
}

}  // namespace

bool is_peer_access_refused(std::span<const RunEvidence> runs) {
  return !runs.empty() && std::ranges::all_of(runs, [](const RunEvidence& run) {
    return std::ranges::any_of(run.refused, [](const std::string& name) {
      return name != "cuDeviceGetAttribute" && name != "nvmlDeviceGetP2PStatus";
    });
  });
}

bool has_p2p(Path path) {
  return path == Path::nvlink || path == Path::pcie_p2p || path == Path::p2p || path == Path::mixed;
}

bool is_without_p2p(Path path) { return path == Path::host_memory || path == Path::network; }

Path path_by(const PathClues& clues) {
  std::vector<NcclConnection> connections = clues.connections;
  if (clues.nvlink == NvlinkUse::none) std::erase_if(connections, is_by_p2p);
  const bool names_p2p = std::ranges::any_of(connections, is_by_p2p);
  Path said = path_of(lines_of(connections), clues.is_joined);
  if (said == Path::mixed && names_p2p) return Path::mixed;
  if (said == Path::mixed) said = Path::host_memory;  // and the network
  const bool has_own_kernels = clues.engine == EngineChoice::own_kernels;
  if (clues.nvlink == NvlinkUse::part || clues.nvlink == NvlinkUse::all) {
    if (!is_without_p2p(said)) return clues.has_unlinked_p2p ? Path::mixed : Path::nvlink;
    return has_own_kernels && clues.nvlink == NvlinkUse::all ? Path::engine : Path::mixed;
  }
  if (names_p2p) {
    return said == Path::pcie_p2p ? Path::pcie_p2p : Path::p2p;
  }
  const bool may_be_staged = said == Path::host_memory || connections.empty();
  if (may_be_staged && clues.engine == EngineChoice::host_memory) return Path::host_memory;
  if (clues.nvlink == NvlinkUse::unseen && (is_without_p2p(said) || connections.empty())) {
    if (has_own_kernels) return Path::engine;
    const bool is_nccl_alone =
        clues.engine == EngineChoice::none || clues.engine == EngineChoice::nccl;
    if (!is_nccl_alone && !clues.is_peer_access_refused) return Path::unknown;
  }
  return said;
}

Path path_of_program(std::span<const RunEvidence> runs, const Machine& machine, double most) {
  const std::optional<bool> is_joined = same_for_used_pairs(machine, runs, joined_by_nvlink);
  const std::vector<NcclConnection> connections = connections_of(runs);
  PathClues clues{.engine = engine_choice(runs),
                  .is_peer_access_refused = is_peer_access_refused(runs)};
  std::vector<Path> paths;
  bool has_idle = false;
  for (const RunEvidence& run : runs) {
    clues.nvlink = nvlink_use(runs, run, is_joined, most);
    clues.connections = run.connections.empty() ? connections : run.connections;
    const std::vector<PairLink> links =
        links_of_p2p(machine, judged_gpus(runs, run), clues.connections);
    clues.is_joined = links.empty() ? is_joined : same_for_all_pairs(links, joined_by_nvlink);
    clues.has_unlinked_p2p = std::ranges::any_of(
        links, [](const PairLink& link) { return joined_by_nvlink(link) == false; });
    has_idle = has_idle || clues.nvlink == NvlinkUse::none;
    paths.push_back(path_by(clues));
  }
  return path_of_all(paths, has_idle);
}

}  // namespace linkgain

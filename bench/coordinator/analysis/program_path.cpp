#include "linkgain/analysis/program_path.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "linkgain/base/text.hpp"
#include "linkgain/telemetry/nccl_log.hpp"
#include "linkgain/telemetry/program_traffic.hpp"

namespace linkgain {
namespace {

/// Reads what the meanings of the table of engines' lines say (bench/coordinator/patterns).
EngineChoice choice_of(std::string_view said) {
  if (said.find("all-reduce through host memory") != said.npos) return EngineChoice::host_memory;
  constexpr std::string_view kBy = "all-reduce by ";
  const std::size_t begin = said.find(kBy);
  if (begin != std::string_view::npos) {
    const std::string_view by = said.substr(begin + kBy.size());
    if (by.starts_with("copies")) return EngineChoice::copies;
    const auto is_nccl = [](const std::string& each) { return each.find("NCCL") != each.npos; };
    return std::ranges::all_of(split(by.substr(0, by.find(" because")), ','), is_nccl)
               ? EngineChoice::nccl
               : EngineChoice::own_kernels;
  }
  if (said.find("no all-reduce kernel of its own") != said.npos) return EngineChoice::nccl;
  return said.find("without NCCL") == said.npos ? EngineChoice::unsaid : EngineChoice::no_nccl;
}

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

/// Joins the paths of runs; `has_idle`: NVLink stood still in one.
Path path_of_all(const std::vector<Path>& runs, bool has_idle) {
  const auto count = [&](Path path) { return std::ranges::count(runs, path); };
  if (runs.empty()) return Path::unknown;
  if (count(runs.front()) == std::ssize(runs)) return runs.front();
  const bool is_used_in_some = has_idle && count(Path::nvlink) > 0;
  return count(Path::unknown) > 0 && !is_used_in_some ? Path::unknown : Path::mixed;
}

}  // namespace

EngineChoice engine_choice(std::span<const RunEvidence> runs) {
  EngineChoice choice = EngineChoice::none;
  for (const std::string& said : engines_of(runs)) choice = std::max(choice, choice_of(said));
  return choice;
}

bool bypasses_nccl(EngineChoice choice) { return choice >= EngineChoice::no_nccl; }

bool is_peer_access_refused(std::span<const RunEvidence> runs) {
  return !runs.empty() && std::ranges::all_of(runs, [](const RunEvidence& run) {
    return std::ranges::any_of(
        run.refused, [](const std::string& name) { return name != "cuDeviceGetAttribute"; });
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
    if (!is_without_p2p(said)) return Path::nvlink;
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
                  .is_peer_access_refused = is_peer_access_refused(runs),
                  .is_joined = is_joined};
  std::vector<Path> paths;
  bool has_idle = false;
  for (const RunEvidence& run : runs) {
    clues.nvlink = nvlink_use(runs, run, is_joined, most);
    clues.connections = run.connections.empty() ? connections : run.connections;
    has_idle = has_idle || clues.nvlink == NvlinkUse::none;
    paths.push_back(path_by(clues));
  }
  return path_of_all(paths, has_idle);
}

}  // namespace linkgain

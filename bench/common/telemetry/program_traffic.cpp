#include "linkgain/telemetry/program_traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "linkgain/statistics/statistics.hpp"
#include "linkgain/telemetry/nccl_log.hpp"

namespace linkgain {
namespace {

/// Takes all where it is not known which were used.
std::vector<GpuEvidence> judged_of(const std::set<int>& used, const RunEvidence& run) {
  std::vector<GpuEvidence> judged;
  std::ranges::copy_if(run.gpus, std::back_inserter(judged), [&](const GpuEvidence& gpu) {
    return used.empty() || used.contains(gpu.gpu);
  });
  return judged;
}

}  // namespace

std::vector<RunEvidence> counted_runs(const Record& record, const std::string& variant) {
  std::vector<RunEvidence> runs;
  for (const ProgramRun& run : record.runs) {
    const bool counts = run.variant == variant && !run.warm_up && run.failure.empty();
    if (counts) runs.push_back(run.evidence);
  }
  return runs;
}

std::set<int> used_gpus(std::span<const RunEvidence> runs) {
  std::set<int> used;
  for (const RunEvidence& run : runs) {
    for (const GpuEvidence& gpu : run.gpus) {
      if (gpu.used) used.insert(gpu.gpu);
    }
  }
  return used;
}

std::vector<GpuEvidence> judged_gpus(std::span<const RunEvidence> runs, const RunEvidence& run) {
  return judged_of(used_gpus(runs), run);
}

std::vector<double> nvlink_bytes_of(std::span<const RunEvidence> runs, SharedGpus shared) {
  const std::set<int> used = used_gpus(runs);
  std::vector<double> bytes;
  for (const RunEvidence& run : runs) {
    std::optional<double> sum;
    for (const GpuEvidence& gpu : judged_of(used, run)) {
      if (!gpu.traffic.nvlink_sent) continue;
      const bool is_shared =
          std::ranges::count(run.neighbours.seen, gpu.gpu, &GpuNeighbour::gpu) > 0;
      if (shared == SharedGpus::leave_out && is_shared) continue;
      sum = sum.value_or(0.0) + static_cast<double>(*gpu.traffic.nvlink_sent);
    }
    if (sum) bytes.push_back(*sum);
  }
  return bytes;
}

std::optional<double> nvlink_bytes_in_a_run(std::span<const RunEvidence> runs) {
  const std::vector<double> bytes = nvlink_bytes_of(runs, SharedGpus::count);
  return bytes.empty() ? std::nullopt : std::optional(median(bytes));
}

std::string readable_traffic(double bytes) {
  for (const auto& [unit, name] :
       {std::pair(1e12, "TB"), std::pair(1e9, "GB"), std::pair(1e6, "MB"), std::pair(1e3, "kB")}) {
    if (bytes >= unit) return fmt::format("{:.3g} {}", bytes / unit, name);
  }
  return fmt::format("{:.0f} B", bytes);
}

std::optional<bool> nvlink_joins(const Machine& machine, std::span<const RunEvidence> runs) {
  std::set<int> gpus;
  for (const RunEvidence& run : runs) {
    for (const GpuEvidence& gpu : judged_gpus(runs, run)) gpus.insert(gpu.gpu);
  }
  std::vector<PairLink> pairs = machine.links;
  std::erase_if(pairs, [&](const PairLink& pair) {
    return !gpus.contains(pair.from) || !gpus.contains(pair.to);
  });
  return same_for_all_pairs(pairs, joined_by_nvlink);
}

std::vector<std::string> transports_of(std::span<const RunEvidence> runs) {
  std::vector<std::string> kinds;
  for (const RunEvidence& run : runs) {
    for (const std::string& each : run.transports) {
      if (std::ranges::count(kinds, each) == 0) kinds.push_back(each);
    }
  }
  return kinds;
}

Path path_of_program(std::span<const RunEvidence> runs, const Machine& machine) {
  const double bytes = nvlink_bytes_in_a_run(runs).value_or(0.0);
  if (bytes > static_cast<double>(kNvlinkFloor)) return Path::nvlink;
  const TransportLines lines = lines_of_kinds(transports_of(runs));
  const Path said = path_of(lines, nvlink_joins(machine, runs));
  const bool is_by_peers = said == Path::nvlink || (said == Path::unknown && lines.p2p > 0);
  return is_by_peers ? Path::p2p : said;
}

}  // namespace linkgain

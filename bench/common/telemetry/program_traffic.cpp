#include "linkgain/telemetry/program_traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "linkgain/base/first_of_each.hpp"
#include "linkgain/base/text.hpp"
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

using Pairs = std::set<std::pair<int, int>>;

/// Names pairs of GPUs: "0-1" both ways, "1->2" one way.
std::vector<std::string> names_of(const Pairs& pairs) {
  std::vector<std::string> names;
  for (const auto& [from, to] : pairs) {
    const bool both_ways = pairs.contains({to, from});
    if (both_ways && to < from) continue;
    names.push_back(fmt::format("{}{}{}", from, both_ways ? "-" : "->", to));
  }
  return names;
}

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

bool counts(const ProgramRun& run, const std::string& variant) {
  return run.variant == variant && !run.warm_up && run.failure.empty();
}

}  // namespace

std::vector<RunEvidence> counted_runs(const Record& record, const std::string& variant) {
  std::vector<RunEvidence> runs;
  for (const ProgramRun& run : record.runs) {
    if (counts(run, variant)) runs.push_back(run.evidence);
  }
  return runs;
}

std::vector<RunEvidence> counted_runs(const Record& record, const std::string& variant,
                                      const std::string& at) {
  std::vector<RunEvidence> runs;
  for (const ProgramRun& run : record.runs) {
    if (counts(run, variant) && run.at == at) runs.push_back(run.evidence);
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
    // What would be rounded to 1000 of the smaller unit is 1 of this one.
    if (bytes >= 0.9995 * unit) return fmt::format("{:.3g} {}", bytes / unit, name);
  }
  return fmt::format("{:.0f} B", bytes);
}

std::optional<bool> same_for_used_pairs(const Machine& machine, std::span<const RunEvidence> runs,
                                        PairQuestion what) {
  std::set<int> gpus;
  for (const RunEvidence& run : runs) {
    for (const GpuEvidence& gpu : judged_gpus(runs, run)) gpus.insert(gpu.gpu);
  }
  std::vector<PairLink> pairs = machine.links;
  std::erase_if(pairs, [&](const PairLink& pair) {
    return !gpus.contains(pair.from) || !gpus.contains(pair.to);
  });
  return same_for_all_pairs(pairs, what);
}

std::vector<NcclConnection> connections_of(std::span<const RunEvidence> runs) {
  std::vector<NcclConnection> all;
  for (const RunEvidence& run : runs) {
    all.insert(all.end(), run.connections.begin(), run.connections.end());
  }
  keep_first_of_each(all);
  return all;
}

std::set<std::string> engines_of(std::span<const RunEvidence> runs) {
  std::set<std::string> said;
  for (const RunEvidence& run : runs) said.insert(run.engine_says.begin(), run.engine_says.end());
  return said;
}

EngineChoice engine_choice(std::span<const RunEvidence> runs) {
  EngineChoice choice = EngineChoice::none;
  for (const std::string& said : engines_of(runs)) choice = std::max(choice, choice_of(said));
  return choice;
}

bool bypasses_nccl(EngineChoice choice) { return choice >= EngineChoice::no_nccl; }

std::set<std::string> algorithms_of(std::span<const RunEvidence> runs) {
  std::set<std::string> said;
  for (const RunEvidence& run : runs) said.insert(run.algorithms.begin(), run.algorithms.end());
  return said;
}

std::string readable_connections(const std::vector<NcclConnection>& connections) {
  constexpr std::size_t kMostKinds = 8;
  constexpr std::size_t kMostPairs = 28;  // among eight GPUs
  std::map<std::string, Pairs> pairs;
  for (const NcclConnection& each : connections) {
    Pairs& of_kind = pairs[each.transport];
    if (each.from && each.to) of_kind.emplace(*each.from, *each.to);
  }
  std::vector<std::string> texts;
  for (const std::string& kind : lines_of(connections).kinds) {
    const std::vector<std::string> names = names_of(pairs.at(kind));
    const bool alone = names.empty() || (pairs.size() == 1 && names.size() == 1);
    texts.push_back(alone ? kind : fmt::format("{} ({})", kind, first_named(names, kMostPairs)));
  }
  return first_named(texts, kMostKinds);
}

bool is_nvlink_parted(std::span<const RunEvidence> with, std::span<const RunEvidence> without) {
  const auto floor = static_cast<double>(kNvlinkFloor);
  const std::vector<double> own = nvlink_bytes_of(with, SharedGpus::count);
  const std::vector<double> others = nvlink_bytes_of(without, SharedGpus::count);
  return !own.empty() && std::ranges::min(own) > floor && !others.empty() &&
         std::ranges::max(others) <= floor;
}

}  // namespace linkgain

#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/compare/run_figures.hpp"
#include "support/record_parts.hpp"

/// Runs with given launch medians, for tests of comparisons.
namespace linkgain::test {

/// Makes a case such as "all_reduce/float32/sum/1GiB/np2" of one variant; times in seconds, one for
/// each launch.
inline CaseFigures timed(const std::string& name, const std::string& variant,
                         const std::vector<double>& launches) {
  CaseFigures figures;
  figures.name = name;
  figures.definition = parse_case_name(name);
  figures.variant = variant;
  for (const double launch : launches) {
    figures.launches.push_back({static_cast<int>(figures.launches.size()), Seconds{launch}});
  }
  figures.time = geometric_mean(figures.launches);
  figures.busbw = bus_bandwidth(figures.definition, *figures.time);
  figures.algbw = algorithm_bandwidth(figures.definition, *figures.time);
  return figures;
}

inline GpuInfo gpu_of(int index, int links) {
  GpuInfo gpu;
  gpu.cuda_index = index;
  gpu.name = "NVIDIA TITAN RTX";
  gpu.uuid = "GPU-" + std::to_string(index);
  gpu.pci_bus_id = "00000000:0" + std::to_string(1 + index) + ":00.0";
  gpu.nvlink_links = 2;
  gpu.nvlink_links_active = links;
  gpu.pcie_generation = 3;
  gpu.pcie_width = 16;
  return gpu;
}

/// Has two GPUs, with or without a bridge of two links.
inline RunFigures two_titans(const std::string& name, bool bridge) {
  RunFigures run;
  run.name = name;
  run.started = "2026-11-20T16:40:00Z";
  run.machine.host = "box";
  run.machine.software.driver = "580.1";
  run.machine.software.nccl_library = "2.28.3";
  for (const int index : {0, 1}) {
    run.machine.ranks.push_back({.rank = index,
                                 .host = "box",
                                 .pid = 1,
                                 .cpus = "0-7",
                                 .gpu = gpu_of(index, bridge ? 2 : 0),
                                 .host_copy = HostCopyRates{12.0, 12.5}});
  }
  run.machine.links = {
      {.from = 0, .to = 1, .p2p = bridge, .nvlink = bridge, .ancestor = Ancestor::phb}};
  run.settings = p2p_against_host();
  return run;
}

inline RunFigures run_with(const std::string& name, std::vector<CaseFigures> cases) {
  RunFigures run = two_titans(name, true);
  run.cases = std::move(cases);
  return run;
}

/// Has four GPUs with `links` NVLinks between 0–1, 0–2, 0–3, 1–2, 1–3 and 2–3, none for 0.
inline RunFigures four_titans(const std::string& name, const std::vector<int>& links) {
  RunFigures run = two_titans(name, true);
  run.machine.links.clear();
  for (const int index : {2, 3}) {
    run.machine.ranks.push_back(run.machine.ranks.front());
    run.machine.ranks.back().rank = index;
    run.machine.ranks.back().gpu = gpu_of(index, 2);
  }
  std::size_t pair = 0;
  for (int from = 0; from < 4; ++from) {
    for (int to = from + 1; to < 4; ++to) {
      const int count = links.at(pair++);
      run.machine.links.push_back({.from = from,
                                   .to = to,
                                   .p2p = true,
                                   .nvlink = count > 0,
                                   .ancestor = Ancestor::phb,
                                   .nvlinks = count});
    }
  }
  return run;
}

inline constexpr const char* kLarge = "all_reduce/float32/sum/1GiB/np2";
inline constexpr const char* kSmall = "all_reduce/float32/sum/64KiB/np2";

/// Returns launch times around `centre` whose logs have exactly the standard deviation `deviation`.
inline std::vector<double> launches_around(double centre, double deviation, int count) {
  std::vector<double> times;
  const double step = deviation * std::sqrt((count - 1.0) / count);
  for (int i = 0; i < count; ++i) times.push_back(centre * std::exp(i % 2 == 0 ? step : -step));
  return times;
}

}  // namespace linkgain::test

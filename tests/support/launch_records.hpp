#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "linkgain/analysis/launch_statistics.hpp"

/// Records of launches whose medians are known.
namespace linkgain::test {

inline Case sized(std::int64_t bytes, OperationKind operation = OperationKind::all_reduce) {
  Case definition;
  definition.operation = operation;
  definition.size = Bytes{bytes};
  return definition;
}

/// Medians of eight launches that differ by a percent.
inline const std::vector<double> kEight{1.00e-3, 1.01e-3, 0.99e-3, 1.00e-3,
                                        1.01e-3, 0.99e-3, 1.00e-3, 1.00e-3};

/// One variant of one case: its launches' medians in seconds.
struct Measured {
  Case definition;
  std::string variant = "p2p";
  std::vector<double> launches;
  Path path = Path::nvlink;
};

/// Adds samples of one launch, the middle of which took `median`: rank 1 is the slower one, and one
/// sample is disturbed.
inline void add_samples(CaseResult& result, int variant, int launch, double median) {
  for (int round = 0; round < 3; ++round) {
    Sample sample;
    sample.variant = variant;
    sample.launch = launch;
    sample.round = round;
    const double factor = round == 0 ? 0.99 : round == 1 ? 1.0 : 1.5;
    sample.times = {Seconds{0.5 * median}, Seconds{factor * median}};
    sample.health.resize(2);
    result.samples.push_back(sample);
  }
}

inline RankInfo gpu_rank(int rank) {
  GpuInfo gpu;
  gpu.name = "NVIDIA H200";
  gpu.nvlink_links_active = 18;
  return {.rank = rank, .host = "node1", .pid = 1, .cpus = "0", .gpu = gpu, .host_copy = {}};
}

/// Makes a whole run on two GPUs. `started` tells runs apart.
inline Record run_of(const std::vector<Measured>& all, const std::string& started = "2026-01-01") {
  Record record;
  record.started = started;
  record.status = RunStatus::complete;
  record.machine.host = "node1";
  record.machine.software.nccl_library = "2.28.3";
  record.machine.ranks = {gpu_rank(0), gpu_rank(1)};
  record.machine.links = {{.from = 0, .to = 1, .p2p = true, .nvlink = true}};
  record.settings.variants = {{"p2p", {}}, {"host", {{"NCCL_P2P_DISABLE", "1"}}}};
  for (const Measured& each : all) {
    auto place = std::ranges::find(record.cases, each.definition, &CaseResult::definition);
    if (place == record.cases.end()) {
      record.cases.push_back({each.definition, {}, {}, true, StopReason::converged});
      place = record.cases.end() - 1;
    }
    VariantResult result;
    result.variant = each.variant;
    result.path = each.path;
    place->variants.push_back(result);
    const int variant = static_cast<int>(place->variants.size()) - 1;
    for (std::size_t launch = 0; launch < each.launches.size(); ++launch) {
      add_samples(*place, variant, static_cast<int>(launch), each.launches[launch]);
    }
  }
  return record;
}

/// Makes the launches of one case as launch_medians() gives them.
inline CaseLaunches launches_of(const Case& definition, const std::vector<double>& times,
                                const std::string& variant = "p2p") {
  CaseLaunches launches{definition, variant, {}, {Path::nvlink}};
  for (std::size_t i = 0; i < times.size(); ++i) {
    launches.launches.push_back({static_cast<int>(i), Seconds{times[i]}});
  }
  return launches;
}

template <typename Change>
Record changed(Record record, Change change) {
  change(record);
  return record;
}

/// Returns the message of what a call throws; "nothing" if it does not.
template <typename Call>
std::string thrown_by(Call call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing";
}

}  // namespace linkgain::test

#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "linkgain/record/record.hpp"
#include "record_parts.hpp"

/// Records of a made-up cluster, for tests of fleets: every node has the same cases, with noise of
/// its own from a fixed generator.
namespace linkgain::test {

/// Numbers that are the same on every machine: SplitMix64.
class FleetNoise {
 public:
  explicit FleetNoise(std::uint64_t seed) : state_(seed) {}
  /// Draws nearly normal numbers: the sum of twelve uniform ones less six.
  double normal() {
    double sum = -6.0;
    for (int i = 0; i < 12; ++i) sum += uniform();
    return sum;
  }

 private:
  double uniform() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t bits = state_;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
    return static_cast<double>((bits ^ (bits >> 31)) >> 11) * 0x1p-53;
  }
  std::uint64_t state_;
};

inline RankInfo fleet_rank(const std::string& host, int rank) {
  GpuInfo gpu = h200_gpu(rank);
  gpu.uuid = "GPU-" + host + "-" + std::to_string(rank);
  gpu.pci_bus_id = "00000000:0" + std::to_string(rank) + ":00.0";
  gpu.compute_capability = "9.0";
  gpu.nvlink_rate_gb_per_s = 26.5625;
  RankInfo info = rank_with(gpu, rank, host);
  info.host_copy = HostCopyRates{55.4, 55.2};
  return info;
}

/// Makes a node without cases.
inline Record fleet_machine(const std::string& host, int gpus) {
  Record record = finished_run(host, 128, "Open MPI v4.1.6");
  record.wall_seconds = 60.5;
  for (int rank = 0; rank < gpus; ++rank) {
    record.machine.ranks.push_back(fleet_rank(host, rank));
    for (int to = rank + 1; to < gpus; ++to) {
      record.machine.links.push_back(
          {.from = rank, .to = to, .p2p = true, .nvlink = true, .ancestor = Ancestor::node});
    }
  }
  record.settings.argv = {"linkgain", "run", "--profile", "node"};
  record.settings.profile = "node";
  return record;
}

inline VariantResult fleet_variant(const Case& definition, const std::string& name, double seconds,
                                   Path path) {
  VariantResult result = timed_variant(definition, name, seconds, path);
  result.skew = 0.001;
  result.fraction_of_limit = 0.731;
  result.limit = path == Path::nvlink ? LimitKind::nvlink_payload : LimitKind::copy;
  result.verification = Verification{definition.elements(), 0, 0.0, 0.0, ""};
  result.evidence = known_evidence(definition);
  if (path != Path::nvlink) {
    result.evidence->nvlink_sent = 0;
    result.evidence->nvlink_received = 0;
  }
  result.health = steady_health();
  return result;
}

/// Lists `count` cases: sends of every pair at 256 MiB and 1 MiB, then all_reduce of other sizes.
inline std::vector<Case> fleet_cases(int gpus, int count) {
  std::vector<Case> cases;
  for (const std::int64_t size : {std::int64_t{256} << 20, std::int64_t{1} << 20}) {
    for (int from = 0; from < gpus; ++from) {
      for (int to = from + 1; to < gpus; ++to) {
        Case c;
        c.operation = OperationKind::send_recv;
        c.size = Bytes{size};
        c.ranks = gpus;
        c.pair = Pair{from, to, false};
        cases.push_back(c);
      }
    }
  }
  for (std::int64_t size = 8; static_cast<int>(cases.size()) < count;
       size += size > 1024 ? size : 8) {
    Case c;
    c.size = Bytes{size};
    c.ranks = gpus;
    cases.push_back(c);
  }
  cases.resize(static_cast<std::size_t>(count));
  return cases;
}

/// Makes a healthy node: 0.5 % of noise from 1 MiB on, 5 % below.
inline Record fleet_node(const std::string& host, std::uint64_t seed, int gpus = 4,
                         int count = 20) {
  Record record = fleet_machine(host, gpus);
  FleetNoise noise(seed);
  for (const Case& definition : fleet_cases(gpus, count)) {
    const double deviation = definition.size.value >= (1 << 20) ? 0.005 : 0.05;
    const double seconds = 6e-6 + static_cast<double>(definition.size.value) / 330e9;
    const double p2p = seconds * std::exp(deviation * noise.normal());
    const double other = 10 * seconds * std::exp(deviation * noise.normal());
    CaseResult result;
    result.definition = definition;
    result.variants = {fleet_variant(definition, "p2p", p2p, Path::nvlink),
                       fleet_variant(definition, "host", other, Path::host_memory)};
    const double ratio = other / p2p;
    result.ratios = {
        {"host", {ratio, Interval{ratio * 0.99, ratio * 1.01}, record.settings.launches}}};
    result.converged = true;
    result.stopped = StopReason::converged;
    record.cases.push_back(std::move(result));
  }
  return record;
}

/// Pretends that each case was measured in so many.
inline void set_launches(Record& record, int launches) {
  record.settings.launches = launches;
  for (CaseResult& result : record.cases) {
    for (RatioResult& each : result.ratios) each.ratio.replicates = launches;
  }
}

/// Adds rounds of every case and variant, whose median is about the variant's time.
inline void add_fleet_samples(Record& record, int rounds) {
  FleetNoise noise(7);
  for (CaseResult& result : record.cases) {
    for (int row = 0; row < 2 * rounds; ++row) {
      Sample sample;
      sample.variant = row % 2;
      sample.round = row / 2;
      sample.position = row % 2;
      sample.operations = 12;
      const double time = result.variants[static_cast<std::size_t>(sample.variant)].time->value;
      for (std::size_t rank = 0; rank < record.machine.ranks.size(); ++rank) {
        sample.times.emplace_back(Seconds{time * std::exp(0.001 * noise.normal())});
        sample.health.push_back({41, 300.5, 1980, 0});
      }
      result.samples.push_back(std::move(sample));
    }
  }
}

}  // namespace linkgain::test

#pragma once

#include <algorithm>

#include "counted_records.hpp"
#include "sample_records.hpp"

/// Records of operations between pairs of ranks.
namespace linkgain::test {

inline Case message(std::int64_t bytes, int ranks, Pair pair) {
  Case definition = all_reduce(bytes);
  definition.operation = OperationKind::send_recv;
  definition.ranks = ranks;
  definition.pair = pair;
  return definition;
}

/// Joins two of four GPUs with two bridges: 0-1 and 2-3 by NVLink, 0-2 and 1-3 below one host
/// bridge, the others between sockets.
inline PairLink bridged_link(int from, int to) {
  if (from / 2 == to / 2) return {from, to, true, true, Ancestor::node, 4};
  if (to - from == 2) return {from, to, true, false, Ancestor::phb, 0};
  return {from, to, false, false, Ancestor::sys, 0};
}

/// Makes a record of four GPUs with no cases yet.
inline Record four_gpus() {
  Record record = two_gpus();
  record.machine.ranks = {h200(0), h200(1), h200(2), h200(3)};
  record.machine.links.clear();
  for (RankInfo& rank : record.machine.ranks) {
    rank.gpu->name = "NVIDIA RTX A6000";
    rank.gpu->nvlink_version = 4;
    rank.gpu->nvlink_links = 4;
    rank.gpu->nvlink_links_active = 4;
    for (int to = rank.rank + 1; to < 4; ++to) {
      record.machine.links.push_back(bridged_link(rank.rank, to));
    }
  }
  return record;
}

/// Makes a pair of them faster by NVLink and by PCIe below one host bridge than through the host.
inline CaseResult bridged_case(const Case& definition) {
  const auto [low, high] = std::minmax(definition.pair->from, definition.pair->to);
  const PairLink link = bridged_link(low, high);
  const Path path = link.nvlink == true ? Path::nvlink
                    : link.p2p == true  ? Path::pcie_p2p
                                        : Path::host_memory;
  // Latency and rate by path; the ranks' numbers make every pair a little different.
  const double rate = (path == Path::nvlink     ? 52e9
                       : path == Path::pcie_p2p ? 21e9
                                                : 9e9) /
                      (1.0 + 0.001 * high);
  const double bytes = static_cast<double>(definition.size.value);
  const double p2p = 8e-6 + (path == Path::nvlink ? 0.0 : 3e-6) + bytes / rate;
  const double host = 14e-6 + 1e-7 * low + bytes / (9e9 + 1e7 * high);
  return converged(definition,
                   {measured(definition, "p2p", p2p, path),
                    measured(definition, "host", host, Path::host_memory)},
                   {ratio("host", host / p2p, 0.995 * host / p2p, 1.005 * host / p2p)});
}

inline void add_pairs(Record& record, std::int64_t bytes, bool both) {
  for (int from = 0; from < 4; ++from) {
    for (int to = both ? from + 1 : 0; to < 4; ++to) {
      if (from == to) continue;
      record.cases.push_back(bridged_case(message(bytes, 4, Pair{from, to, both})));
    }
  }
}

/// Returns a case of the record; it must be there.
inline CaseResult& pair_case(Record& record, std::int64_t bytes, Pair pair) {
  return *std::ranges::find_if(record.cases, [&](const CaseResult& result) {
    return result.definition.size.value == bytes && result.definition.pair == pair;
  });
}

inline void slow_down(VariantResult& variant, const Case& definition, double times) {
  variant.time->value *= times;
  variant.algbw = algorithm_bandwidth(definition, *variant.time);
  variant.busbw = bus_bandwidth(definition, *variant.time);
}

inline constexpr std::int64_t kLargePair = 256 << 20;
inline constexpr std::int64_t kSmallPair = 64;

/// Measures all pairs of four GPUs one way and both ways at 256 MiB and one way at 64 B. The bridge
/// of GPUs 2 and 3 gives two thirds of what the other one does.
inline Record four_gpus_record() {
  Record record = four_gpus();
  add_pairs(record, kLargePair, false);
  add_pairs(record, kLargePair, true);
  for (CaseResult& result : record.cases) {
    if (result.definition.pair->from + result.definition.pair->to != 5) continue;
    slow_down(result.variants[0], result.definition, 1.5);
    result.ratios[0] = ratio("host", 3.87, 3.85, 3.89);
  }
  return record;
}

/// Measures one way only, with pairs that gave wrong data, were skipped, not measured or not asked
/// for, and small messages.
inline Record troubled_pairs_record() {
  Record record = four_gpus();
  add_pairs(record, kLargePair, false);
  add_pairs(record, kSmallPair, false);
  pair_case(record, kLargePair, {1, 0}).variants[0].verification =
      checked(67108864, 3, "rank 0, element 5: 1 instead of 2");
  CaseResult& lost = pair_case(record, kLargePair, {2, 0});
  lost.variants[1] = skipped("host", "the job died");
  lost.ratios.clear();
  CaseResult& interrupted = pair_case(record, kLargePair, {3, 2});
  interrupted.variants.pop_back();
  interrupted.variants[0].time.reset();
  interrupted.variants[0].busbw.reset();
  interrupted.ratios.clear();
  std::erase_if(record.cases, [](const CaseResult& result) {
    return result.definition.pair == Pair{0, 3} && result.definition.size.value == kLargePair;
  });
  return record;
}

/// Measures two GPUs, each way and both ways at once.
inline Record two_gpus_pairs_record() {
  Record record = two_gpus();
  record.machine.links[0].nvlinks = 18;
  const std::int64_t bytes = 512 << 20;
  record.cases = {nvlink_case(message(bytes, 2, {0, 1}), 1.435e-3, 14.1e-3, 9.80, 9.85),
                  nvlink_case(message(bytes, 2, {1, 0}), 1.441e-3, 14.0e-3, 9.70, 9.74),
                  nvlink_case(message(bytes, 2, {0, 1, true}), 1.47e-3, 22.0e-3, 14.9, 15.0)};
  return record;
}

}  // namespace linkgain::test

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "support/sample_records.hpp"

namespace linkgain::test {

inline CaseResult sent(std::int64_t bytes, double own, double other, double low, double high) {
  Case definition = all_reduce(bytes);
  definition.operation = OperationKind::send_recv;
  definition.pair = Pair{0, 1};
  return nvlink_case(definition, own, other, low, high);
}

/// Gives the case's second variant another name and, like the first one, NVLink's path.
inline CaseResult of_setting(CaseResult result, const std::string& name) {
  result.variants[1].variant = name;
  result.variants[1].path = Path::nvlink;
  for (RatioResult& each : result.ratios) each.variant = name;
  return result;
}

/// Compares NCCL 2.28.3 with 2.32.3, whose send_recv takes longer from 16 to 512 KiB.
inline Record two_nccl_versions() {
  Record record = two_gpus();
  record.settings.variants = {
      {"p2p", {}},
      {.name = "new", .environment = {{"LINKGAIN_NCCL", "/new.so"}}, .nccl = "/new.so"}};
  record.settings.environment_in_force.clear();
  Software other = record.machine.software;
  other.nccl_library = "2.32.3+cuda13.0";
  record.settings.software_in_force = {record.machine.software, other};
  const std::vector<std::pair<std::int64_t, double>> ratios{{8 << 10, 1.01},  {16 << 10, 1.21},
                                                            {64 << 10, 1.69}, {512 << 10, 1.07},
                                                            {1 << 20, 1.03},  {256 << 20, 1.004}};
  for (const auto& [size, ratio] : ratios) {
    CaseResult each = sent(size, 7.6e-6, 7.6e-6 * ratio, ratio - 0.01, ratio + 0.01);
    if (ratio < 1.02) each.ratios.front().ratio.interval = Interval{0.97, 1.03};
    record.cases.push_back(of_setting(each, "new"));
  }
  for (const OperationKind operation : {OperationKind::all_gather, OperationKind::reduce_scatter}) {
    Case definition = all_reduce(256 << 20);
    definition.operation = operation;
    record.cases.push_back(of_setting(nvlink_case(definition, 1e-3, 1.02e-3, 1.01, 1.03), "new"));
  }
  return record;
}

/// Adds what else 2.32.3 changes: all_reduce and all_gather by both launch modes, of which three
/// take longer.
inline Record two_nccl_versions_by_both_modes() {
  Record record = two_nccl_versions();
  std::erase_if(record.cases, [](const CaseResult& each) {
    return each.definition.operation != OperationKind::send_recv;
  });
  for (const OperationKind operation : {OperationKind::all_reduce, OperationKind::all_gather}) {
    for (const LaunchMode launch : {LaunchMode::stream, LaunchMode::graph}) {
      for (const std::int64_t size : {16 << 10, 256 << 20}) {
        Case definition = all_reduce(size);
        definition.operation = operation;
        definition.launch = launch;
        const bool is_slow = size < 1 << 20 && (operation == OperationKind::all_gather ||
                                                launch == LaunchMode::stream);
        const double ratio = !is_slow ? 1.0 : launch == LaunchMode::stream ? 1.4 : 1.04;
        record.cases.push_back(of_setting(
            nvlink_case(definition, 1e-5, ratio * 1e-5, ratio - 0.005, ratio + 0.005), "new"));
      }
    }
  }
  return record;
}

/// Has four variants: `ring` is as fast, `tree` slower, `ll128` faster.
inline Record four_variants() {
  Record record = two_gpus();
  record.settings.variants = {{"p2p", {}}, {"ring", {}}, {"tree", {}}, {"ll128", {}}};
  record.settings.environment_in_force.clear();
  for (const std::int64_t size : {1 << 20, 1 << 28}) {
    const Case definition = all_reduce(size);
    const double own = 1e-11 * static_cast<double>(size);
    CaseResult result = converged(definition, {measured(definition, "p2p", own, Path::nvlink)}, {});
    for (const auto& [name, ratio] :
         {std::pair("ring", 1.0), std::pair("tree", size > 1 << 20 ? 1.3 : 1.5),
          std::pair("ll128", size > 1 << 20 ? 1.0 : 0.7)}) {
      result.variants.push_back(measured(definition, name, ratio * own, Path::nvlink));
      result.ratios.push_back({name, {ratio, Interval{ratio - 0.01, ratio + 0.01}, 6}});
    }
    record.cases.push_back(result);
  }
  return record;
}

}  // namespace linkgain::test

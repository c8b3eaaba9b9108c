#include "linkgain/summary/link_bounds.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/hardware/topology.hpp"

namespace linkgain {
namespace {

/// Finds the link that would have joined these GPUs; absent where a case took NVLink, where it is
/// not known whether NVLink joins them, and without two GPUs of one host.
std::optional<UnusedLink> unused_link(const RunSummary& summary) {
  const Machine& machine = summary.record.machine;
  const auto has_gpu = [](const RankInfo& rank) { return rank.gpu.has_value(); };
  const bool are_gpus = machine.ranks.size() > 1 && std::ranges::all_of(machine.ranks, has_gpu) &&
                        on_one_host(machine) &&
                        summary.record.settings.backend == BackendKind::nccl;
  const auto is_unknown = [](const PairLink& link) { return !joined_by_nvlink(link); };
  if (!are_gpus || summary.is_of_program() || std::ranges::any_of(machine.links, is_unknown)) {
    return std::nullopt;
  }
  const auto has_path = [&](Path path) {
    return std::ranges::any_of(summary.cases, [path](const CaseSummary& each) {
      return uses_link(each.definition()) &&
             std::ranges::any_of(each.variants, [path](const VariantSummary& variant) {
               return variant.result->time && variant.result->path == path;
             });
    });
  };
  if (has_path(Path::nvlink) || has_path(Path::mixed)) return std::nullopt;
  UnusedLink link;
  bool is_there = true;
  bool may_be = true;
  for (const RankInfo& rank : machine.ranks) {
    const GpuInfo& gpu = *rank.gpu;
    const bool active = gpu.nvlink_links_active.value_or(0) > 0;
    const std::optional<double> rate = active ? nvlink_total(gpu) : bridge_rate(gpu.name);
    is_there = is_there && active;
    may_be = may_be && (active || rate || gpu.nvlink_links.value_or(0) > 0);
    if (rate) link.gb_per_s = std::min(*rate, link.gb_per_s.value_or(*rate));
  }
  if (is_there && has_path(Path::unknown)) return std::nullopt;
  link.name =
      is_there ? "the NVLink that joins them" : "a bridge for " + machine.ranks.front().gpu->name;
  link.why = is_there ? "NVLink joins these GPUs, and carried nothing."
             : may_be ? "These GPUs have no NVLink bridge."
                      : "These GPUs have no NVLink, and no bridge fits.";
  return link;
}

/// Gives the time that the first variant would take if its bytes moved at the link's rate.
std::optional<LinkBound> bound_of(const CaseSummary& each, const UnusedLink& link) {
  const Case& definition = each.definition();
  const VariantSummary& first = each.variants.front();
  const VariantResult& result = *first.result;
  if (!result.time || first.wrong_data) return std::nullopt;
  const Seconds now = *result.time;
  if (is_training(definition.operation)) {
    if (!first.exposed || !first.exposed->interval) return std::nullopt;
    const double exposed = std::clamp(first.exposed->interval->high, 0.0, now.value);
    return LinkBound{&each, true, now, Seconds{now.value - exposed}};
  }
  const bool fills_link = uses_link(definition) && !is_latency(definition.operation);
  if (!link.gb_per_s || !result.busbw || !fills_link || definition.kernel) return std::nullopt;
  const double share = std::min(1.0, *result.busbw / *link.gb_per_s);
  return LinkBound{&each, false, now, Seconds{now.value * share}};
}

/// Bounds the largest size of each operation, and every training behind them.
std::vector<LinkBound> bounds_of(const RunSummary& summary, const UnusedLink& link) {
  std::vector<const CaseSummary*> by_size;
  for (const CaseSummary& each : summary.cases) by_size.push_back(&each);
  std::ranges::stable_sort(by_size, {},
                           [](const CaseSummary* each) { return each->definition().size.value; });
  std::map<OperationKind, LinkBound> largest;
  std::vector<LinkBound> trainings;
  for (const CaseSummary* each : by_size) {
    const std::optional<LinkBound> bound = bound_of(*each, link);
    if (!bound) continue;
    if (bound->is_training) {
      trainings.push_back(*bound);
    } else {
      largest.insert_or_assign(each->definition().operation, *bound);
    }
  }
  std::vector<LinkBound> bounds;
  for (const auto& [operation, bound] : largest) bounds.push_back(bound);
  bounds.insert(bounds.end(), trainings.begin(), trainings.end());
  return bounds;
}

}  // namespace

std::optional<LinkBounds> link_bounds(const RunSummary& summary) {
  std::optional<UnusedLink> link = unused_link(summary);
  if (!link) return std::nullopt;
  LinkBounds all{std::move(*link), {}};
  all.bounds = bounds_of(summary, all.link);
  if (all.bounds.empty()) return std::nullopt;
  return all;
}

}  // namespace linkgain

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/hardware/topology.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/tables/document.hpp"
#include "sentences.hpp"

namespace linkgain {
namespace {

/// The NVLink that a run did without.
struct UnusedLink {
  std::string why;                   ///< "These GPUs have no NVLink bridge."
  std::string name;                  ///< "a bridge for NVIDIA GeForce RTX 3090"
  std::optional<double> gb_per_s{};  ///< one way; absent where it is not known
};

/// One thing that was measured without NVLink, and the time below which no link can bring it.
struct Bound {
  std::string label;
  bool is_training = false;
  Seconds now{};
  Seconds least{};
};

/// Finds the link that would have joined these GPUs; absent where a case took NVLink, and without
/// two GPUs of one host.
std::optional<UnusedLink> unused_link(const RunSummary& summary) {
  const Machine& machine = summary.record.machine;
  const auto has_gpu = [](const RankInfo& rank) { return rank.gpu.has_value(); };
  const bool are_gpus = machine.ranks.size() > 1 && std::ranges::all_of(machine.ranks, has_gpu) &&
                        on_one_host(machine) &&
                        summary.record.settings.backend == BackendKind::nccl;
  if (!are_gpus || summary.is_of_program()) return std::nullopt;
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
std::optional<Bound> bound_of(const CaseSummary& each, const UnusedLink& link) {
  const Case& definition = each.definition();
  const VariantSummary& first = each.variants.front();
  const VariantResult& result = *first.result;
  if (!result.time || first.wrong_data) return std::nullopt;
  const Seconds now = *result.time;
  if (is_training(definition.operation)) {
    if (!first.exposed || !first.exposed->interval) return std::nullopt;
    const double exposed = std::clamp(first.exposed->interval->high, 0.0, now.value);
    return Bound{answer_label(definition), true, now, Seconds{now.value - exposed}};
  }
  const bool fills_link = uses_link(definition) && !is_latency(definition.operation);
  if (!link.gb_per_s || !result.busbw || !fills_link || definition.kernel) return std::nullopt;
  const double share = std::min(1.0, *result.busbw / *link.gb_per_s);
  return Bound{answer_label(definition), false, now, Seconds{now.value * share}};
}

/// Bounds the largest size of each operation, and every training behind them.
std::vector<Bound> bounds_of(const RunSummary& summary, const UnusedLink& link) {
  std::vector<const CaseSummary*> by_size;
  for (const CaseSummary& each : summary.cases) by_size.push_back(&each);
  std::ranges::stable_sort(by_size, {},
                           [](const CaseSummary* each) { return each->definition().size.value; });
  std::map<OperationKind, Bound> largest;
  std::vector<Bound> trainings;
  for (const CaseSummary* each : by_size) {
    const std::optional<Bound> bound = bound_of(*each, link);
    if (!bound) continue;
    if (bound->is_training) {
      trainings.push_back(*bound);
    } else {
      largest.insert_or_assign(each->definition().operation, *bound);
    }
  }
  std::vector<Bound> bounds;
  for (const auto& [operation, bound] : largest) bounds.push_back(bound);
  bounds.insert(bounds.end(), trainings.begin(), trainings.end());
  return bounds;
}

/// Says "1.14x"; of what moves too few bytes for the link's rate to bound it ">1000x".
std::string most_speed_up(const Bound& bound) {
  constexpr double kMost = 1000.0;
  const double ratio = bound.now.value / bound.least.value;
  return ratio < kMost ? fmt::format("{:.3g}x", ratio) : ">1000x";
}

/// Names the training that saves most, else the operation: the guide's question is about training.
const Bound& most_telling(const std::vector<Bound>& bounds) {
  return *std::ranges::max_element(bounds, {}, [](const Bound& bound) {
    return std::pair(bound.is_training, bound.now.value / bound.least.value);
  });
}

}  // namespace

std::string nvlink_bound_sentence(const RunSummary& summary) {
  const std::optional<UnusedLink> link = unused_link(summary);
  if (!link) return {};
  const std::vector<Bound> bounds = bounds_of(summary, *link);
  if (bounds.empty()) return {};
  const Bound& bound = most_telling(bounds);
  return fmt::format("{} By arithmetic, a link could make {} at most {} as fast.", link->why,
                     bound.label, most_speed_up(bound));
}

Document nvlink_bound(const RunSummary& summary) {
  const std::optional<UnusedLink> link = unused_link(summary);
  if (!link) return {};
  const std::vector<Bound> bounds = bounds_of(summary, *link);
  if (bounds.empty()) return {};
  const std::string rate = link->gb_per_s ? fmt::format(", and {} carries {:.4g} GB/s each way",
                                                        link->name, *link->gb_per_s)
                                          : "";
  Document document;
  document.heading("What NVLink could save at most");
  document.paragraph(fmt::format(
      "{} This is arithmetic, not a measurement: no link saves a training step more than its "
      "exposed communication{}.",
      link->why, rate));
  Table table({{"Operation"}, {"Now", kRight}, {"At best", kRight}, {"Speed-up at most", kRight}});
  for (const Bound& bound : bounds) {
    table.add_row(
        {bound.label, readable_time(bound.now), readable_time(bound.least), most_speed_up(bound)});
  }
  document.table(std::move(table));
  return document;
}

}  // namespace linkgain

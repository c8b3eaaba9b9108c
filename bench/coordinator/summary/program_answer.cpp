#include <algorithm>
#include <cstddef>
#include <vector>

#include "linkgain/cases/program_metric.hpp"
#include "linkgain/summary/answer_choice.hpp"
#include "linkgain/summary/changes.hpp"

namespace linkgain {
namespace {

/// Lists a program's metrics: what was asked for, then the wall time and the start-up.
std::vector<const CaseSummary*> metrics_of(const RunSummary& summary) {
  std::vector<const CaseSummary*> metrics;
  for (const CaseSummary& each : summary.cases) metrics.push_back(&each);
  std::ranges::stable_partition(metrics, [](const CaseSummary* each) {
    return !is_always_measured(*each->definition().metric);
  });
  return metrics;
}

bool are_of_one_metric(const CaseSummary* a, const CaseSummary* b) {
  return a->definition().metric->name == b->definition().metric->name;
}

/// Finds what changed most of these beside a variant; none where nothing did.
const CaseSummary* most_changed(const std::vector<const CaseSummary*>& cases, std::size_t other) {
  const auto change = [=](const CaseSummary* each) {
    return change_interval(AnswerRow{each, other}.comparison()).low;
  };
  const CaseSummary* most = nullptr;
  for (const CaseSummary* each : cases) {
    const Comparison* const own = AnswerRow{each, other}.comparison();
    if (own == nullptr || !own->has_speed_up() || !is_change(own->verdict)) continue;
    if (most == nullptr || change(each) > change(most)) most = each;
  }
  return most;
}

/// Finds the metric that changed most of those that were asked for beside the first one; none where
/// nothing did.
const CaseSummary* changed_beside_first(std::vector<const CaseSummary*> metrics,
                                        std::size_t other) {
  const CaseSummary* const first = metrics.front();
  std::erase_if(metrics, [=](const CaseSummary* each) {
    return are_of_one_metric(each, first) || is_always_measured(*each->definition().metric);
  });
  return most_changed(metrics, other);
}

/// Gives a row to as many of the metrics that some run gave, in their order; first to what is
/// spoken of, then to the first metric at each of an axis's values, then to what changed most of
/// each other one, at one of them.
void add_rows(Answer& answer, const RunSummary& summary,
              const std::vector<const CaseSummary*>& metrics, std::size_t most_rows) {
  const auto is_spoken = [&](const CaseSummary* each) {
    return std::ranges::count(answer.spoken, each, &AnswerRow::of) > 0;
  };
  std::vector<const CaseSummary*> first;
  for (const AnswerRow& row : answer.spoken) first.push_back(row.of);
  for (const CaseSummary* each : metrics) {
    if (!each->is_measured || is_always_measured(*each->definition().metric)) continue;
    const auto same = [&](const CaseSummary* other) { return are_of_one_metric(each, other); };
    if (std::ranges::any_of(first, same)) continue;
    const CaseSummary* const most =
        each->arms() < 2 ? nullptr
                         : most_changed(summary.along_axis(*each->definition().metric), 1);
    first.push_back(most != nullptr ? most : each);
  }
  std::vector<const CaseSummary*> chosen = metrics;
  std::erase_if(chosen, [](const CaseSummary* each) { return !each->is_measured; });
  std::ranges::stable_partition(
      chosen, [&](const CaseSummary* each) { return std::ranges::count(first, each) > 0; });
  std::ranges::stable_partition(
      chosen, [&](const CaseSummary* each) { return are_of_one_metric(each, metrics.front()); });
  std::ranges::stable_partition(chosen, is_spoken);
  chosen.resize(std::min(chosen.size(), most_rows));
  for (const CaseSummary* each : metrics) {
    if (!each->is_measured) continue;
    if (std::ranges::count(chosen, each) > 0) {
      answer.rows.push_back({each});
    } else {
      answer.left_out.push_back(metric_label(*each->definition().metric));
    }
  }
}

}  // namespace

Answer answer_of_program(const RunSummary& summary, std::size_t most_rows) {
  Answer answer;
  const std::vector<const CaseSummary*> metrics = metrics_of(summary);
  if (std::ranges::none_of(metrics, &CaseSummary::is_measured)) return answer;
  const CaseSummary* const first = metrics.front();
  const auto along = summary.along_axis(*first->definition().metric);
  for (std::size_t i = 1; i < first->variants.size(); ++i) {
    if (first->variants[i].is_control) continue;
    const CaseSummary* const most = most_changed(along, i);
    answer.spoken.push_back({most != nullptr ? most : first, i});
    const CaseSummary* const other = most != nullptr ? nullptr : changed_beside_first(metrics, i);
    if (other != nullptr) answer.spoken.push_back({other, i});
  }
  if (answer.spoken.empty()) answer.spoken.push_back({first});
  add_rows(answer, summary, metrics, most_rows);
  if (first->arms() != 2) return answer;
  const CaseSummary* const main = answer.main();
  for (const CaseSummary* each : metrics) {
    const ProgramMetric& metric = *each->definition().metric;
    const bool is_time = metric.name == ProgramMetric::kTime && !are_of_one_metric(each, main) &&
                         metric.at == main->definition().metric->at;
    if (is_time && each->comparisons.front().has_speed_up()) answer.spoken.push_back({each, 1});
  }
  return answer;
}

}  // namespace linkgain

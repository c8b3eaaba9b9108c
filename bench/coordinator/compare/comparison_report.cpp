#include "linkgain/compare/comparison_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "comparison_cautions.hpp"
#include "comparison_tables.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/compare/run_comparison.hpp"
#include "linkgain/record/record_members.hpp"
#include "linkgain/report/judgement_text.hpp"
#include "linkgain/statistics/statistics.hpp"
#include "linkgain/tables/document.hpp"
#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

void add_changes(Document& document, const RunComparison& comparison) {
  document.heading("What changed");
  if (comparison.changes.empty()) document.item("no machine change was recorded");
  for (const MachineDifference& change : comparison.changes) document.item(text_of(change));
}

void add_cautions(Document& document, const RunComparison& comparison) {
  const std::vector<Warning> cautions = cautions_of(comparison);
  if (cautions.empty()) return;
  document.heading("Cautions");
  for (const Warning& caution : cautions) {
    document.item(Document::Item{with_code(fmt::format("{}: {}", caution.code, caution.text)),
                                 with_code("Advice: " + caution.advice)});
  }
}

/// "6" or, before and after, "6, 8"; empty without an interval.
std::string launches_cell(const CaseComparison& each) {
  if (!each.speed_up) return {};
  const std::size_t before = each.before->launches.size();
  const std::size_t after = each.after->launches.size();
  return before == after ? fmt::format("{}", before) : fmt::format("{}, {}", before, after);
}

/// Whether all intervals are over as many launches, so that rows need not say so.
bool have_like_launches(const RunComparison& comparison) {
  std::set<std::string> cells;
  for (const CaseComparison& each : comparison.cases) {
    if (each.speed_up) cells.insert(launches_cell(each));
  }
  return cells.size() < 2;
}

/// ", over 8 launches", ", over 8 launches before and 6 after"; empty without an interval.
std::string launches_text(const RunComparison& comparison) {
  if (!have_like_launches(comparison)) return ", over the row's launches (before, after)";
  const auto any = std::ranges::find_if(
      comparison.cases, [](const CaseComparison& each) { return each.speed_up.has_value(); });
  if (any == comparison.cases.end()) return {};
  const auto count = [](const CaseFigures* side) {
    return counted(static_cast<std::int64_t>(side->launches.size()), "launch", "launches");
  };
  const std::size_t before = any->before->launches.size();
  if (before != any->after->launches.size()) {
    return fmt::format(", over {} before and {} after", count(any->before), count(any->after));
  }
  return before == 1 ? ", of one launch each" : fmt::format(", over {} each", count(any->before));
}

std::string legend_of(const RunComparison& comparison) {
  std::vector<Verdict> verdicts;
  bool trainings = false;
  bool rates = false;
  for (const CaseComparison& each : comparison.cases) {
    verdicts.push_back(each.verdict);
    trainings = trainings || each.definition.training.has_value();
    rates = rates || is_rate(each.definition);
  }
  return fmt::format("{}. The speed-up is the time before over the time after{}. {} {}",
                     counts_of(verdicts), launches_text(comparison), value_legend(trainings, rates),
                     verdict_legend(comparison.tolerance));
}

CaseRow row_of(const CaseComparison& each, Metric metric) {
  CaseRow row{case_label(each.definition),
              each.variant,
              {value_cell(each.before, metric), value_cell(each.after, metric)},
              each.verdict,
              reason_text(each)};
  append_cells(row.values, speed_up_cells(each));
  row.foldable = each.verdict == Verdict::missing || each.verdict == Verdict::not_comparable;
  return row;
}

void add_cases(Document& document, const RunComparison& comparison, Metric metric) {
  if (comparison.cases.empty()) {
    document.paragraph("Neither run has a case to compare.");
    return;
  }
  std::vector<CaseRow> rows;
  for (const CaseComparison& each : comparison.cases) rows.push_back(row_of(each, metric));
  std::vector<Table::Column> columns{{"Before", kRight, false, 3},
                                     {"After", kRight, false, 4},
                                     {"Speed-up", kRight},
                                     {"95 % CI", kRight, false, 5},
                                     {"Less time", kRight, false, 1}};
  if (!have_like_launches(comparison)) {
    columns.push_back({"Launches", kRight, false, 2});
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].values.push_back(launches_cell(comparison.cases[i]));
    }
  }
  document.heading("Every case");
  document.table(table_of_cases(columns, rows));
  document.paragraph(legend_of(comparison));
}

}  // namespace

Document comparison_report(const RunComparison& comparison, Metric metric,
                           const std::string& pictures) {
  Document document;
  if (!comparison.cases.empty()) document.paragraph(answer_of(comparison));
  document.paragraph("Before: " + name_and_start(*comparison.before));
  document.paragraph("After: " + name_and_start(*comparison.after));
  if (!pictures.empty()) {
    document.heading("Pictures");
    document.figure(pictures);
  }
  add_changes(document, comparison);
  if (!comparison.cases.empty()) add_headline_table(document, comparison);
  add_cautions(document, comparison);
  add_cases(document, comparison, metric);
  return document;
}

namespace {

constexpr std::string_view kCsvHeader =
    "before,after,case,variant,before_time_s,after_time_s,before_busbw_gb_per_s,"
    "after_busbw_gb_per_s,before_algbw_gb_per_s,after_algbw_gb_per_s,before_path,after_path,"
    "before_launches,after_launches,speed_up,speed_up_low,speed_up_high,less_time,launch_spread,"
    "spread_assumed,verdict,reason,before_disturbed_samples,after_disturbed_samples,"
    "before_level_change,after_level_change\n";

std::optional<double> time_of(const CaseFigures* figures) {
  if (figures == nullptr || !figures->time) {
    return std::nullopt;
  }
  return figures->time->value;
}

std::optional<double> bandwidth_of(const CaseFigures* figures,
                                   std::optional<double> CaseFigures::*which) {
  return figures == nullptr ? std::nullopt : figures->*which;
}

std::string path_of(const CaseFigures* figures) {
  return figures == nullptr || !figures->time ? std::string{} : std::string(name_of(figures->path));
}

std::string launches_of(const CaseFigures* figures) {
  return figures == nullptr ? std::string{} : fmt::format("{}", figures->launches.size());
}

void add_difference(std::vector<std::string>& fields, const CaseComparison& each) {
  if (!each.speed_up) {
    fields.insert(fields.end(), 6, "");
    return;
  }
  fields.push_back(csv_field(each.speed_up->value));
  fields.push_back(csv_field(low_of(each.speed_up->interval)));
  fields.push_back(csv_field(high_of(each.speed_up->interval)));
  fields.push_back(csv_field(less_time(each.speed_up->value)));
  fields.push_back(csv_field(deviation_of(*each.basis)));
  fields.emplace_back(degrees_of_freedom(*each.basis) ? "false" : "true");
}

std::string csv_row(const RunComparison& comparison, const CaseComparison& each) {
  const CaseFigures* before = each.before;
  const CaseFigures* after = each.after;
  std::vector<std::string> fields{csv_field(std::string_view(comparison.before->name)),
                                  csv_field(std::string_view(comparison.after->name)),
                                  csv_field(std::string_view(each.name)),
                                  csv_field(std::string_view(each.variant)),
                                  csv_field(time_of(before)),
                                  csv_field(time_of(after)),
                                  csv_field(bandwidth_of(before, &CaseFigures::busbw)),
                                  csv_field(bandwidth_of(after, &CaseFigures::busbw)),
                                  csv_field(bandwidth_of(before, &CaseFigures::algbw)),
                                  csv_field(bandwidth_of(after, &CaseFigures::algbw)),
                                  path_of(before),
                                  path_of(after),
                                  launches_of(before),
                                  launches_of(after)};
  add_difference(fields, each);
  fields.emplace_back(name_of(each.verdict));
  fields.push_back(csv_field(std::string_view(reason_text(each))));
  for (const CaseFigures* side : {before, after}) {
    fields.push_back(csv_field(side == nullptr ? std::nullopt : side->disturbance.samples));
  }
  for (const CaseFigures* side : {before, after}) {
    fields.push_back(csv_field(side == nullptr ? std::nullopt : side->disturbance.level_change));
  }
  return fmt::format("{}\n", fmt::join(fields, ","));
}

}  // namespace

std::string comparison_csv(const RunComparison& comparison) {
  std::string text(kCsvHeader);
  for (const CaseComparison& each : comparison.cases) text += csv_row(comparison, each);
  return text;
}

namespace {

using json::nullable;
using json::Out;

/// With the steps that a training's time is multiplied by in tables: times here are of one step.
Out write_run(const RunFigures& run) {
  const std::optional<TrainingPlan>& plan = run.settings.training;
  return {
      {"name", run.name},
      {"source", name_of(run.source)},
      {"started", run.started},
      {"status", name_of(run.status)},
      {"training", plan ? Out{{"steps", plan->steps}, {"tokens", plan->tokens}} : Out(nullptr)}};
}

Out write_change(const MachineDifference& change) {
  return {{"kind", name_of(change.kind)},
          {"what", change.what},
          {"before", change.before},
          {"after", change.after}};
}

Out write_side(const CaseFigures* figures) {
  if (figures == nullptr) return nullptr;
  Out launches = Out::array();
  for (const LaunchMedian& launch : figures->launches) launches.push_back(launch.time.value);
  return {{"time_s", nullable(seconds_of(figures->time))},
          {"algbw_gb_per_s", nullable(figures->algbw)},
          {"busbw_gb_per_s", nullable(figures->busbw)},
          {"path", name_of(figures->path)},
          {"launch_medians_s", launches},
          {"disturbed_samples", nullable(figures->disturbance.samples)},
          {"level_change", nullable(figures->disturbance.level_change)}};
}

/// Times and speed-ups, from which less time follows.
Out write_speed_up(const CaseComparison& each) {
  if (!each.speed_up) return nullptr;
  return {{"speed_up", each.speed_up->value},
          {"low", each.speed_up->interval->low},
          {"high", each.speed_up->interval->high},
          {"less_time", less_time(each.speed_up->value)},
          {"launch_spread", deviation_of(*each.basis)},
          {"degrees_of_freedom", nullable(degrees_of_freedom(*each.basis))}};
}

Out write_case(const CaseComparison& each) {
  return {{"case", each.name},
          {"variant", each.variant},
          {"before", write_side(each.before)},
          {"after", write_side(each.after)},
          {"difference", write_speed_up(each)},
          {"verdict", name_of(each.verdict)},
          {"reason", reason_text(each)}};
}

Out write_comparison(const RunComparison& comparison) {
  const CaseComparison* headline = headline_case(comparison);
  return {{"before", write_run(*comparison.before)},
          {"after", write_run(*comparison.after)},
          {"threshold", comparison.tolerance},
          {"changes", json::array_of(comparison.changes, write_change)},
          {"cautions", json::write(cautions_of(comparison))},
          {"headline", headline != nullptr ? write_case(*headline) : Out(nullptr)},
          {"cases", json::array_of(comparison.cases, write_case)}};
}

}  // namespace

std::string to_json(const RunComparison& comparison) {
  return json::document_text({{"schema", "linkgain.comparison/1"},
                              {"comparisons", Out::array({write_comparison(comparison)})}});
}

}  // namespace linkgain

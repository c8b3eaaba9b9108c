#include "linkgain/compare/comparison_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "comparison_parts.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/compare/run_comparison.hpp"
#include "linkgain/record/record_members.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/statistics/statistics.hpp"
#include "linkgain/summary/judgement_text.hpp"
#include "linkgain/tables/document.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

void add_changes(Document& document, const RunComparison& comparison) {
  document.heading("What changed");
  if (comparison.changes.empty()) document.item("no machine change was recorded");
  for (const MachineDifference& change : comparison.changes) {
    document.item(fmt::format("{}: {} → {}", change.what, change.before, change.after));
  }
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

/// Returns "6" or, before and after, "6, 8"; empty without an interval.
std::string launches_cell(const CaseComparison& each) {
  if (!each.speed_up) return {};
  const std::size_t before = each.before->launches.size();
  const std::size_t after = each.after->launches.size();
  return before == after ? fmt::format("{}", before) : fmt::format("{}, {}", before, after);
}

/// Tells whether all intervals are over as many launches, so that rows need not say so.
bool have_like_launches(const RunComparison& comparison) {
  std::set<std::string> cells;
  for (const CaseComparison& each : comparison.cases) {
    if (each.speed_up) cells.insert(launches_cell(each));
  }
  return cells.size() < 2;
}

/// Returns ", over 8 launches", ", over 8 launches before and 6 after"; empty without an interval.
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

/// Says what a value, and the words of the verdicts, mean.
std::string legend_of(const RunComparison& comparison) {
  bool trainings = false;
  bool rates = false;
  for (const CaseComparison& each : comparison.cases) {
    trainings = trainings || each.definition.training.has_value();
    rates = rates || is_rate(each.definition);
  }
  return fmt::format(
      "{0}. The speed-up is the time before over the time after{1}. A run's value is the geometric "
      "mean of its launches' medians.{2}{3}{4} Faster and slower: by more than {5}, and 1 is "
      "outside the 95 % interval; same: the whole interval is within {5}.",
      counts_of(comparison.cases), launches_text(comparison),
      trainings ? " A training's time is that of a step; it has no bandwidth." : "",
      rates ? " " : "", rates ? kRateLegend : "", readable_percent(comparison.tolerance));
}

/// Returns speed-up and interval; of one launch each the first alone.
Cells speed_up_cells(const CaseComparison& each, double tolerance) {
  if (!each.speed_up) return {"", ""};
  const RatioText text = readable_ratio(*each.speed_up, tolerance);
  return {text.estimate, each.interval ? text.interval() : ""};
}

/// Lets rows become one that would say no more than their verdict and reason.
std::string alike_key(const CaseComparison& each) {
  if (has_compared_times(each)) return {};
  return fmt::format("{}\n{}\n{}", name_of(each.verdict), each.variant, reason_text(each));
}

Cells cells_of(const std::vector<const CaseComparison*>& cases, Metric metric, double tolerance) {
  const CaseComparison& each = *cases.front();
  Cells cells{case_label(each.definition), each.variant, value_cell(each.before, metric),
              value_cell(each.after, metric)};
  append_cells(cells, speed_up_cells(each, tolerance));
  cells.push_back(launches_cell(each));
  std::string reason = reason_text(each);
  if (cases.size() > 1) {
    std::vector<std::string> labels;
    for (const CaseComparison* one : cases) labels.push_back(case_label(one->definition));
    cells = Cells(cells.size());
    cells[0] = fmt::format("{} cases", cases.size());
    cells[1] = each.variant;
    reason += ": " + first_named(labels);
  }
  append_cells(cells, {toned(std::string(name_of(each.verdict)), tone_of(each.verdict)), reason});
  return cells;
}

bool has_one_variant(const RunComparison& comparison) {
  return std::ranges::all_of(comparison.cases, [&](const CaseComparison& each) {
    return each.variant == comparison.cases.front().variant;
  });
}

void add_cases(Document& document, const RunComparison& comparison, Metric metric) {
  if (comparison.cases.empty()) {
    document.paragraph("Neither run has a case to compare.");
    return;
  }
  const bool says_launches = !have_like_launches(comparison);
  // Rows of several variants are told apart by it alone.
  const int variant_goes = has_one_variant(comparison) ? 6 : 0;
  std::vector<Table::Column> columns{
      {.title = "Case", .too_long = Table::TooLong::cut},
      {.title = "Variant", .needs_values = true, .leave_out = variant_goes},
      {"Before", kRight, false, 3},
      {"After", kRight, false, 4},
      {"Speed-up", kRight},
      {"95 % CI", kRight, false, 5},
      {"Launches", kRight, false, 2},
      {"Verdict"},
      {.title = "Why", .too_long = Table::TooLong::below}};
  constexpr std::ptrdiff_t kLaunches = 6;
  if (!says_launches) columns.erase(columns.begin() + kLaunches);
  Table table(columns);
  std::vector<const CaseComparison*> all;
  for (const CaseComparison& each : comparison.cases) all.push_back(&each);
  for (const auto& alike : grouped(all, alike_key)) {
    Cells cells = cells_of(alike, metric, comparison.tolerance);
    if (!says_launches) cells.erase(cells.begin() + kLaunches);
    table.add_row(std::move(cells));
  }
  document.heading("Every case");
  document.table(std::move(table));
  document.paragraph(legend_of(comparison));
}

/// Names what a run measured, in order: "all_reduce and send_recv", "time and tokens of a program".
std::string measured_in(const RunFigures& run) {
  std::vector<std::string_view> names;
  for (const CaseFigures& each : run.cases) {
    const Case& definition = each.definition;
    const std::string_view name =
        definition.metric ? definition.metric->name : name_of(definition.operation);
    if (std::ranges::count(names, name) == 0) names.push_back(name);
  }
  return listed(names) + (run.settings.program ? " of a program" : "");
}

/// Tells whether both runs have cases, and none an operation of the other's.
bool measured_other_things(const RunComparison& comparison) {
  const auto operations_of = [](const RunFigures& run) {
    std::set<OperationKind> operations;
    for (const CaseFigures& each : run.cases) operations.insert(each.definition.operation);
    return operations;
  };
  const std::set<OperationKind> before = operations_of(*comparison.before);
  const std::set<OperationKind> after = operations_of(*comparison.after);
  return !before.empty() && !after.empty() &&
         std::ranges::none_of(before, [&](OperationKind each) { return after.contains(each); });
}

}  // namespace

Document comparison_report(const RunComparison& comparison, Metric metric,
                           const std::string& pictures) {
  Document document;
  const bool is_of_others = measured_other_things(comparison);
  if (!comparison.cases.empty()) {
    const bool is_disturbed = std::ranges::any_of(cautions_of(comparison), disturbs);
    document.paragraph(answer_of(comparison) +
                       (is_disturbed ? " Other work disturbed a run: see the cautions." : ""));
  }
  if (!pictures.empty()) document.figure(pictures);
  if (!comparison.cases.empty() && !is_of_others) add_headline(document, comparison);
  for (const auto& [when, run] :
       {std::pair{"Before", comparison.before}, {"After", comparison.after}}) {
    document.item(fmt::format("{}: {}{}{}", when, run->name,
                              run->started.empty() ? "" : fmt::format(" ({})", run->started),
                              is_of_others ? " measured " + measured_in(*run) : ""));
  }
  if (is_of_others) {
    document.paragraph("Compare runs of the same operations, or of the same program.");
    return document;
  }
  add_changes(document, comparison);
  add_cautions(document, comparison);
  add_cases(document, comparison, metric);
  return document;
}

namespace {

/// A column of the CSV.
struct CsvColumn {
  const char* name;
  std::string (*field)(const RunComparison& comparison, const CaseComparison& each);
};
using All = const RunComparison&;
using Each = const CaseComparison&;
using Side = const CaseFigures* CaseComparison::*;

template <Side side, auto member>
std::string of_side(All, Each each) {
  const CaseFigures* figures = each.*side;
  return figures == nullptr ? std::string() : csv_field(figures->*member);
}

template <Side side>
std::string seconds_of_side(All, Each each) {
  const CaseFigures* figures = each.*side;
  return figures == nullptr ? std::string() : csv_field(seconds_of(figures->time));
}

template <Side side>
std::string path_of_side(All, Each each) {
  const CaseFigures* figures = each.*side;
  return figures == nullptr || !figures->time ? "" : std::string(name_of(figures->path));
}

template <Side side>
std::string launches_of_side(All, Each each) {
  const CaseFigures* figures = each.*side;
  return figures == nullptr ? "" : fmt::to_string(figures->launches.size());
}

template <Side side, auto member>
std::string disturbed_of(All, Each each) {
  const CaseFigures* figures = each.*side;
  return figures == nullptr ? std::string() : csv_field(figures->disturbance.*member);
}

template <std::optional<double> (*end)(const std::optional<Interval>&)>
std::string end_of(All, Each each) {
  return each.speed_up ? csv_field(end(each.speed_up->interval)) : std::string();
}

template <const RunFigures* RunComparison::*run>
std::string disturbed_by_of(All all, Each) {
  return disturbed_by((all.*run)->warnings);
}

std::string csv_text(std::string_view words) { return csv_field(words); }

constexpr Side kBefore = &CaseComparison::before;
constexpr Side kAfter = &CaseComparison::after;

constexpr CsvColumn kCsvColumns[] = {
    {"before", [](All all, Each) { return csv_text(all.before->name); }},
    {"after", [](All all, Each) { return csv_text(all.after->name); }},
    {"case", [](All, Each each) { return csv_text(each.name); }},
    {"variant", [](All, Each each) { return csv_text(each.variant); }},
    {"before_time_s", seconds_of_side<kBefore>},
    {"after_time_s", seconds_of_side<kAfter>},
    {"before_busbw_gb_per_s", of_side<kBefore, &CaseFigures::busbw>},
    {"after_busbw_gb_per_s", of_side<kAfter, &CaseFigures::busbw>},
    {"before_algbw_gb_per_s", of_side<kBefore, &CaseFigures::algbw>},
    {"after_algbw_gb_per_s", of_side<kAfter, &CaseFigures::algbw>},
    {"before_path", path_of_side<kBefore>},
    {"after_path", path_of_side<kAfter>},
    {"before_launches", launches_of_side<kBefore>},
    {"after_launches", launches_of_side<kAfter>},
    {"speed_up",
     [](All, Each each) { return each.speed_up ? csv_field(each.speed_up->value) : ""; }},
    {"speed_up_low", end_of<low_of>},
    {"speed_up_high", end_of<high_of>},
    {"less_time",
     [](All, Each each) {
       return each.speed_up ? csv_field(less_time(each.speed_up->value)) : "";
     }},
    {"launch_spread",
     [](All, Each each) { return each.basis ? csv_field(deviation_of(*each.basis)) : ""; }},
    {"spread_assumed", [](All, Each each) { return std::string(each.speed_up ? "false" : ""); }},
    {"verdict", [](All, Each each) { return std::string(name_of(each.verdict)); }},
    {"reason", [](All, Each each) { return csv_text(reason_text(each)); }},
    {"before_disturbed_samples", disturbed_of<kBefore, &Disturbance::samples>},
    {"after_disturbed_samples", disturbed_of<kAfter, &Disturbance::samples>},
    {"before_level_change", disturbed_of<kBefore, &Disturbance::level_change>},
    {"after_level_change", disturbed_of<kAfter, &Disturbance::level_change>},
    {"before_disturbed_by", disturbed_by_of<&RunComparison::before>},
    {"after_disturbed_by", disturbed_by_of<&RunComparison::after>},
};

}  // namespace

std::string comparison_csv(const RunComparison& comparison) {
  std::string lines;
  for (const CsvColumn& column : kCsvColumns) lines += fmt::format("{},", column.name);
  lines.back() = '\n';
  for (const CaseComparison& each : comparison.cases) {
    for (const CsvColumn& column : kCsvColumns) lines += column.field(comparison, each) + ",";
    lines.back() = '\n';
  }
  return lines;
}

namespace {

using json::nullable;
using json::Out;

/// Names the steps that a training's time is multiplied by in tables: times here are of one step.
Out write_run(const RunFigures& run) {
  const std::optional<TrainingPlan>& plan = run.settings.training;
  return {
      {"name", run.name},
      {"source", name_of(run.source)},
      {"started", run.started},
      {"status", run.ending},
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

/// Writes the speed-up, from which less time follows.
Out write_speed_up(const CaseComparison& each) {
  if (!each.speed_up) return nullptr;
  return {{"speed_up", each.speed_up->value},
          {"low", nullable(low_of(each.speed_up->interval))},
          {"high", nullable(high_of(each.speed_up->interval))},
          {"less_time", less_time(each.speed_up->value)},
          {"launch_spread", each.basis ? Out(deviation_of(*each.basis)) : Out(nullptr)},
          {"degrees_of_freedom",
           each.basis ? nullable(degrees_of_freedom(*each.basis)) : Out(nullptr)}};
}

Out write_case(const CaseComparison& each) {
  return {{"case", each.name},
          {"unit", unit_of(each.definition)},
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

#include "linkgain/compare/comparison_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "comparison_cells.hpp"
#include "comparison_page.hpp"
#include "comparison_rows.hpp"
#include "comparison_trend.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/tables/table.hpp"

namespace linkgain {
namespace {

void add_changes(StyledText& text, const RunComparison& comparison) {
  text.heading("What changed");
  if (comparison.changes.empty()) text.item("nothing that both runs tell of");
  for (const Change& change : comparison.changes) text.item(text_of(change));
}

void add_cautions(StyledText& text, const RunComparison& comparison) {
  if (comparison.cautions.empty()) return;
  text.heading("Cautions");
  for (const Warning& caution : comparison.cautions) {
    text.item(fmt::format("{}: {}", caution.code, caution.text), "Advice: " + caution.advice);
  }
}

std::string legend_of(const RunComparison& comparison) {
  std::vector<CaseVerdict> verdicts;
  bool trainings = false;
  for (const CaseComparison& each : comparison.cases) {
    verdicts.push_back(each.verdict);
    trainings = trainings || (each.definition.training.has_value());
  }
  return fmt::format("{}. The speed-up is the time before over the time after. {} {}",
                     counts_of(verdicts), value_legend(trainings),
                     verdict_legend(comparison.threshold));
}

CaseRow row_of(const CaseComparison& each, Metric metric) {
  CaseRow row{case_label(each.definition),
              each.variant,
              {value_cell(each.before, metric), value_cell(each.after, metric)},
              each.verdict,
              each.reason};
  const std::vector<std::string> speed_up = speed_up_cells(each);
  row.values.insert(row.values.end(), speed_up.begin(), speed_up.end());
  row.foldable =
      each.verdict == CaseVerdict::missing || each.verdict == CaseVerdict::not_comparable;
  return row;
}

void add_cases(StyledText& text, const RunComparison& comparison, Metric metric) {
  if (comparison.cases.empty()) {
    text.paragraph("Neither run has a case to compare.");
    return;
  }
  std::vector<CaseRow> rows;
  for (const CaseComparison& each : comparison.cases) rows.push_back(row_of(each, metric));
  text.heading("Every case");
  add_case_table(text,
                 {{"Before", true},
                  {"After", true},
                  {"Speed-up", true},
                  {"95 % CI", true},
                  {"Less time", true}},
                 rows);
  text.paragraph(legend_of(comparison));
}

std::string pair_report(const RunComparison& comparison, Metric metric, TableStyle style) {
  StyledText text(style);
  text.paragraph("Before: " + name_and_start(*comparison.before));
  text.paragraph("After: " + name_and_start(*comparison.after));
  add_changes(text, comparison);
  if (!comparison.cases.empty()) add_page_table(text, {comparison});
  add_cautions(text, comparison);
  add_cases(text, comparison, metric);
  return text.text();
}

}  // namespace

std::string comparison_report(const std::vector<RunComparison>& comparisons, Metric metric,
                              TableStyle style) {
  if (comparisons.empty()) {
    throw std::invalid_argument("nothing to compare");
  }
  return comparisons.size() == 1 ? pair_report(comparisons.front(), metric, style)
                                 : trend_report(comparisons, metric, style);
}

}  // namespace linkgain

#include "linkgain/report/comparison_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "alike.hpp"
#include "comparison_cells.hpp"
#include "comparison_page.hpp"
#include "linkgain/core/units.hpp"
#include "styled_table.hpp"
#include "wording.hpp"

namespace linkgain {
namespace {

std::string started_of(const RunFigures& run) {
  return run.started.empty() ? run.name : fmt::format("{} ({})", run.name, run.started);
}

void add_changes(StyledText& text, const RunComparison& comparison) {
  if (comparison.changes.empty()) {
    text.item("nothing that both runs tell of");
  }
  for (const Change& change : comparison.changes) {
    text.item(fmt::format("{}: {} → {}", change.what, change.before, change.after));
  }
}

void add_cautions(StyledText& text, const RunComparison& comparison) {
  for (const Warning& caution : comparison.cautions) {
    text.item(fmt::format("{}: {}", caution.code, caution.text), "Advice: " + caution.advice);
  }
}

std::string counts_of(const RunComparison& comparison) {
  constexpr std::array kVerdicts{CaseVerdict::faster,         CaseVerdict::slower,
                                 CaseVerdict::same,           CaseVerdict::inconclusive,
                                 CaseVerdict::not_comparable, CaseVerdict::missing};
  std::vector<std::string> counts;
  for (const CaseVerdict verdict : kVerdicts) {
    const auto count = std::count_if(comparison.cases.begin(), comparison.cases.end(),
                                     [&](const auto& each) { return each.verdict == verdict; });
    if (count > 0) {
      counts.push_back(fmt::format("{} {}", count, name_of(verdict)));
    }
  }
  return fmt::format("{}", fmt::join(counts, ", "));
}

/// What tables by case show of a training; empty where there is none.
std::string training_legend(const RunComparison& comparison) {
  const bool trainings = std::any_of(
      comparison.cases.begin(), comparison.cases.end(),
      [](const CaseComparison& each) { return each.definition && each.definition->training; });
  return trainings ? " A training's time is that of a step; it has no bandwidth." : "";
}

std::string legend_of(const RunComparison& comparison) {
  return fmt::format(
      "{}. A run's value is the geometric mean of its launches' medians, and the speed-up is the "
      "time before over the time after.{} Faster and slower: by more than {}, and 1 is outside "
      "the 95 % interval; same: the interval is inside it.",
      counts_of(comparison), training_legend(comparison), readable_percent(comparison.threshold));
}

bool has_variants(const std::vector<RunComparison>& comparisons) {
  return std::any_of(comparisons.begin(), comparisons.end(), [](const RunComparison& comparison) {
    return std::any_of(comparison.cases.begin(), comparison.cases.end(),
                       [](const CaseComparison& each) { return !each.variant.empty(); });
  });
}

using Cells = std::vector<std::string>;

/// What there is to say of a case without a time: the same of all that share it.
std::string alike_key(const CaseComparison& each) {
  const bool timeless =
      each.verdict == CaseVerdict::missing || each.verdict == CaseVerdict::not_comparable;
  return timeless ? fmt::format("{}\n{}\n{}", name_of(each.verdict), each.variant, each.reason)
                  : std::string();
}

/// In the place of several cases of which the same is to be said.
Cells row_of_several(const std::vector<const CaseComparison*>& cases, std::size_t values) {
  std::vector<std::string> labels;
  for (const CaseComparison* each : cases) {
    labels.push_back(label_of(*each));
  }
  const CaseComparison& first = *cases.front();
  Cells cells{fmt::format("{} cases", cases.size()), first.variant};
  cells.insert(cells.end(), values, "");
  cells.insert(cells.end(), {std::string(name_of(first.verdict)),
                             fmt::format("{}: {}", first.reason, first_few(labels))});
  return cells;
}

/// The table of all cases: `columns` between variant and verdict, of which `values` gives the cells
/// of a case.
template <typename Values>
void add_case_table(StyledText& text, const RunComparison& comparison, bool variants,
                    const std::vector<StyledText::Column>& columns, Values values) {
  std::vector<const CaseComparison*> cases;
  for (const CaseComparison& each : comparison.cases) {
    cases.push_back(&each);
  }
  std::vector<Cells> rows;
  for (const auto& alike : grouped(cases, alike_key)) {
    const CaseComparison& each = *alike.front();
    if (alike.size() > 1) {
      rows.push_back(row_of_several(alike, columns.size()));
      continue;
    }
    rows.push_back({label_of(each), each.variant});
    const Cells own = values(each);
    rows.back().insert(rows.back().end(), own.begin(), own.end());
    rows.back().insert(rows.back().end(), {std::string(name_of(each.verdict)), each.reason});
  }
  std::vector<StyledText::Column> all{{"Case"}, {"Variant"}};
  all.insert(all.end(), columns.begin(), columns.end());
  all.insert(all.end(), {{"Verdict"}, {"Why"}});
  if (!variants) {
    all.erase(all.begin() + 1);
    for (Cells& row : rows) row.erase(row.begin() + 1);
  }
  text.table_with_reasons(all, rows);
}

void add_cases(StyledText& text, const RunComparison& comparison, Metric metric) {
  add_case_table(text, comparison, has_variants({comparison}),
                 {{"Before", true},
                  {"After", true},
                  {"Speed-up", true},
                  {"95 % CI", true},
                  {"Less time", true}},
                 [metric](const CaseComparison& each) {
                   Cells cells{value_cell(each.before, metric), value_cell(each.after, metric)};
                   const Cells speed_up = speed_up_cells(each);
                   cells.insert(cells.end(), speed_up.begin(), speed_up.end());
                   return cells;
                 });
}

const CaseFigures* same_case(const RunComparison& comparison, const CaseComparison& wanted) {
  for (const CaseComparison& each : comparison.cases) {
    if (each.name == wanted.name && each.variant == wanted.variant) {
      return each.after;
    }
  }
  return nullptr;
}

void add_trend(StyledText& text, const std::vector<RunComparison>& comparisons, Metric metric) {
  std::vector<StyledText::Column> columns{{run_label(1), true}};
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    columns.push_back({run_label(i + 2), true});
  }
  columns.insert(columns.end(), {{"Last/first", true}, {"95 % CI", true}});
  add_case_table(text, comparisons.back(), has_variants(comparisons), columns,
                 [&](const CaseComparison& each) {
                   Cells cells{value_cell(each.before, metric)};
                   for (const RunComparison& comparison : comparisons) {
                     cells.push_back(value_cell(same_case(comparison, each), metric));
                   }
                   const Cells speed_up = speed_up_cells(each);
                   cells.insert(cells.end(), {speed_up[0], speed_up[1]});
                   return cells;
                 });
}

std::string pair_report(const RunComparison& comparison, Metric metric, TableStyle style) {
  StyledText text(style);
  text.paragraph("Before: " + started_of(*comparison.before));
  text.paragraph("After: " + started_of(*comparison.after));
  text.heading("What changed");
  add_changes(text, comparison);
  add_page_table(text, {comparison});
  if (!comparison.cautions.empty()) {
    text.heading("Cautions");
    add_cautions(text, comparison);
  }
  text.heading("Every case");
  add_cases(text, comparison, metric);
  text.paragraph(legend_of(comparison));
  return text.text();
}

std::string trend_report(const std::vector<RunComparison>& comparisons, Metric metric,
                         TableStyle style) {
  StyledText text(style);
  text.paragraph(fmt::format("{}: {}", run_label(1), started_of(*comparisons.front().before)));
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    text.heading(fmt::format("Changed since the first in {}: {}", run_label(i + 2),
                             started_of(*comparisons[i].after)));
    add_changes(text, comparisons[i]);
    add_cautions(text, comparisons[i]);
  }
  add_page_table(text, comparisons);
  text.heading("Every case");
  add_trend(text, comparisons, metric);
  text.paragraph(legend_of(comparisons.back()));
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

#include "linkgain/report/comparison_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "comparison_cells.hpp"
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

bool uses_nvlink(const CaseFigures* figures) {
  return figures != nullptr && figures->path == Path::nvlink;
}

/// Whether NVLink is what the two sides differ in.
bool is_about_nvlink(const CaseComparison& each) {
  return uses_nvlink(each.before) != uses_nvlink(each.after) &&
         each.before->path != Path::unknown && each.after->path != Path::unknown;
}

std::vector<std::string> page_row(const std::string& name, bool about_nvlink,
                                  const CaseFigures& figures) {
  const std::string answer = !about_nvlink ? "" : uses_nvlink(&figures) ? " (Y)" : " (N)";
  return {name + answer, value_cell(&figures, Metric::time), value_cell(&figures, Metric::busbw),
          figures.path == Path::unknown ? "" : std::string(readable_path(figures.path))};
}

/// The page's table of one case, a row for each run.
void add_page_table(StyledText& text, const std::vector<RunComparison>& comparisons) {
  const CaseComparison* last = headline_case(comparisons.back());
  if (last == nullptr) {
    const std::vector<CaseComparison>& cases = comparisons.back().cases;
    const bool compared = std::any_of(cases.begin(), cases.end(), [](const CaseComparison& each) {
      return each.speed_up.has_value();
    });
    if (!compared) text.paragraph("No case was measured on both sides.");
    return;  // what another program measured has no size to choose by
  }
  const bool nvlink = is_about_nvlink(*last);
  const bool trend = comparisons.size() > 1;
  std::vector<std::vector<std::string>> rows{
      page_row(trend ? comparisons.front().before->name : "Before", nvlink, *last->before)};
  for (const RunComparison& comparison : comparisons) {
    const auto same = std::find_if(comparison.cases.begin(), comparison.cases.end(),
                                   [&](const CaseComparison& each) {
                                     return each.before == last->before && each.after != nullptr;
                                   });
    if (same == comparison.cases.end()) {
      continue;
    }
    rows.push_back(page_row(trend ? comparison.after->name : "After", nvlink, *same->after));
  }
  text.table({{nvlink ? "NVLink" : "Run"}, {label_of(*last), true}, {"busbw", true}, {"Path"}},
             rows);
  text.paragraph(verdict_sentence(*last, comparisons.back().threshold));
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

std::string legend_of(const RunComparison& comparison) {
  return fmt::format(
      "{}. A run's value is the geometric mean of its launches' medians, and the speed-up is the "
      "time before over the time after. Faster and slower: by more than {}, and 1 is outside the "
      "95 "
      "% interval; same: the interval is inside it.",
      counts_of(comparison), readable_percent(comparison.threshold));
}

bool has_variants(const std::vector<RunComparison>& comparisons) {
  return std::any_of(comparisons.begin(), comparisons.end(), [](const RunComparison& comparison) {
    return std::any_of(comparison.cases.begin(), comparison.cases.end(),
                       [](const CaseComparison& each) { return !each.variant.empty(); });
  });
}

/// The rows' cells without the variant's where no run has any.
std::vector<std::string> without_variant(std::vector<std::string> cells, bool variants) {
  if (!variants) {
    cells.erase(cells.begin() + 1);
  }
  return cells;
}

void add_cases(StyledText& text, const RunComparison& comparison, Metric metric) {
  const bool variants = has_variants({comparison});
  std::vector<StyledText::Column> columns{{"Case"}, {"Variant"}};
  if (!variants) {
    columns.pop_back();
  }
  columns.insert(columns.end(), {{"Before", true},
                                 {"After", true},
                                 {"Speed-up", true},
                                 {"95 % CI", true},
                                 {"Less time", true},
                                 {"Verdict"}});
  std::vector<std::vector<std::string>> rows;
  for (const CaseComparison& each : comparison.cases) {
    std::vector<std::string> cells{label_of(each), each.variant, value_cell(each.before, metric),
                                   value_cell(each.after, metric)};
    for (std::string& cell : speed_up_cells(each)) {
      cells.push_back(std::move(cell));
    }
    cells.push_back(verdict_cell(each));
    rows.push_back(without_variant(std::move(cells), variants));
  }
  text.table(columns, rows);
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
  const RunComparison& last = comparisons.back();
  const bool variants = has_variants(comparisons);
  std::vector<StyledText::Column> columns{{"Case"}, {"Variant"}, {last.before->name, true}};
  if (!variants) {
    columns.erase(columns.begin() + 1);
  }
  for (const RunComparison& comparison : comparisons) {
    columns.push_back({comparison.after->name, true});
  }
  columns.insert(columns.end(), {{"Last/first", true}, {"95 % CI", true}, {"Verdict"}});
  std::vector<std::vector<std::string>> rows;
  for (const CaseComparison& each : last.cases) {
    std::vector<std::string> cells{label_of(each), each.variant, value_cell(each.before, metric)};
    for (const RunComparison& comparison : comparisons) {
      cells.push_back(value_cell(same_case(comparison, each), metric));
    }
    const std::vector<std::string> speed_up = speed_up_cells(each);
    cells.insert(cells.end(), {speed_up[0], speed_up[1], verdict_cell(each)});
    rows.push_back(without_variant(std::move(cells), variants));
  }
  text.table(columns, rows);
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
  text.paragraph("First: " + started_of(*comparisons.front().before));
  for (const RunComparison& comparison : comparisons) {
    text.heading("Changed since the first in " + started_of(*comparison.after));
    add_changes(text, comparison);
    add_cautions(text, comparison);
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

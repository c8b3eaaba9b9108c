#include "comparison_trend.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>

#include "comparison_cautions.hpp"
#include "comparison_tables.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/tables/table.hpp"

namespace linkgain {
namespace {

/// Finds the row of a case: by the first run's figures, which all comparisons point to, else by
/// name and variant.
class Rows {
 public:
  Rows(std::vector<TrendCase>& rows, std::size_t comparisons)
      : rows_(rows), comparisons_(comparisons) {}

  void add(const CaseComparison& each, std::size_t comparison) {
    std::vector<std::size_t>& known =
        each.before != nullptr ? by_first_[each.before] : by_name_[{each.name, each.variant}];
    // A name that a run has twice is two cases.
    const auto unused = std::find_if(known.begin(), known.end(), [&](std::size_t place) {
      return rows_[place].later[comparison] == nullptr;
    });
    if (unused != known.end()) {
      rows_[*unused].later[comparison] = &each;
      return;
    }
    known.push_back(rows_.size());
    rows_.push_back({each.name, each.definition, each.variant, each.before,
                     std::vector<const CaseComparison*>(comparisons_, nullptr)});
    rows_.back().later[comparison] = &each;
  }

 private:
  std::vector<TrendCase>& rows_;
  std::size_t comparisons_;
  std::map<const CaseFigures*, std::vector<std::size_t>> by_first_;
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> by_name_;
};

/// How many cases the run of one side has.
std::size_t cases_of(const RunComparison& comparison, const CaseFigures* CaseComparison::*side) {
  return static_cast<std::size_t>(
      std::count_if(comparison.cases.begin(), comparison.cases.end(),
                    [side](const CaseComparison& each) { return each.*side != nullptr; }));
}

/// The last of those whose later run has most cases.
std::size_t fullest_of(const std::vector<RunComparison>& comparisons) {
  std::size_t fullest = 0;
  for (std::size_t i = 1; i < comparisons.size(); ++i) {
    const bool fuller = cases_of(comparisons[i], &CaseComparison::after) >=
                        cases_of(comparisons[fullest], &CaseComparison::after);
    if (fuller) fullest = i;
  }
  return fullest;
}

/// In the first run's own order, of which the figures are parts; what it lacks follows.
bool is_before_in_first(const TrendCase& a, const TrendCase& b) {
  if (a.first == nullptr || b.first == nullptr) return a.first != nullptr && b.first == nullptr;
  return std::less<>()(a.first, b.first);
}

}  // namespace

std::vector<TrendCase> trend_of(const std::vector<RunComparison>& comparisons) {
  std::vector<TrendCase> all;
  if (comparisons.empty()) return all;
  Rows rows(all, comparisons.size());
  const auto add = [&](std::size_t comparison) {
    for (const CaseComparison& each : comparisons[comparison].cases) rows.add(each, comparison);
  };
  const std::size_t fullest = fullest_of(comparisons);
  add(fullest);
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    if (i != fullest) add(i);
  }
  const RunComparison& any = comparisons.front();
  if (cases_of(any, &CaseComparison::before) >
      cases_of(comparisons[fullest], &CaseComparison::after)) {
    std::stable_sort(all.begin(), all.end(), is_before_in_first);
  }
  return all;
}

const CaseFigures* figures_of(const TrendCase& row, std::size_t run) {
  if (run == 0) return row.first;
  const CaseComparison* each = row.later.at(run - 1);
  return each == nullptr ? nullptr : each->after;
}

CaseVerdict verdict_of(const TrendCase& row, std::size_t run) {
  const CaseComparison* each = row.later.at(run - 1);
  return each == nullptr ? CaseVerdict::missing : each->verdict;
}

namespace {

using Comparisons = std::vector<RunComparison>;

/// "Run 2", "Runs 2, 3", "Runs 1, 3–5"; numbers in ascending order.
std::string runs_text(const std::vector<std::size_t>& numbers) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (end - i < 3) end = i + 1;
    parts.push_back(end == i + 1 ? fmt::format("{}", numbers[i])
                                 : fmt::format("{}–{}", numbers[i], numbers[end - 1]));
    i = end;
  }
  return fmt::format("{} {}", numbers.size() == 1 ? "Run" : "Runs", fmt::join(parts, ", "));
}

/// Texts with the numbers of the runs that they are true of, in order of appearance.
class Told {
 public:
  void add(const std::string& text, const std::string& more, std::size_t run) {
    const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
      return entry.text == text && entry.more == more;
    });
    Entry& entry = known != entries_.end() ? *known : entries_.emplace_back(Entry{text, more, {}});
    if (entry.runs.empty() || entry.runs.back() != run) entry.runs.push_back(run);
  }
  bool empty() const { return entries_.empty(); }
  void write_items(StyledText& text) const {
    for (const Entry& entry : entries_) {
      text.item(fmt::format("{}: {}", runs_text(entry.runs), entry.text), entry.more);
    }
  }
  /// "Run 2: wrong data; Runs 3, 4: skipped"
  std::string sentence() const {
    std::vector<std::string> parts;
    for (const Entry& entry : entries_) {
      parts.push_back(fmt::format("{}: {}", runs_text(entry.runs), entry.text));
    }
    return fmt::format("{}", fmt::join(parts, "; "));
  }

 private:
  struct Entry {
    std::string text;
    std::string more;
    std::vector<std::size_t> runs;
  };
  std::vector<Entry> entries_;
};

void add_runs(StyledText& text, const Comparisons& comparisons) {
  text.heading("Runs");
  text.item(fmt::format("{}: {}", run_label(1), name_and_start(*comparisons.front().before)));
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    text.item(fmt::format("{}: {}", run_label(i + 2), name_and_start(*comparisons[i].after)));
  }
}

void add_changes(StyledText& text, const Comparisons& comparisons) {
  Told told;
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    if (comparisons[i].changes.empty()) told.add("no machine change was recorded", "", i + 2);
    for (const Change& change : comparisons[i].changes) told.add(text_of(change), "", i + 2);
  }
  text.heading("What changed since Run 1");
  told.write_items(text);
}

void add_cautions(StyledText& text, const Comparisons& comparisons) {
  Told told;
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    for (const Warning& caution : cautions_of(comparisons[i])) {
      told.add(fmt::format("{}: {}", caution.code, caution.text), "Advice: " + caution.advice,
               i + 2);
    }
  }
  if (told.empty()) return;
  text.heading("Cautions, of each run against Run 1");
  told.write_items(text);
}

/// Why a case has no time, or none that may be compared, in some of the runs.
std::string why(const TrendCase& row) {
  std::vector<std::size_t> lacking;
  Told told;
  for (std::size_t run = 0; run <= row.later.size(); ++run) {
    const CaseFigures* figures = figures_of(row, run);
    if (figures == nullptr) {
      lacking.push_back(run + 1);
    } else if (!figures->no_time.empty()) {
      told.add(figures->no_time, "", run + 1);
    } else if (run > 0 && verdict_of(row, run) == CaseVerdict::not_comparable &&
               row.first->no_time.empty()) {
      told.add(row.later[run - 1]->reason, "", run + 1);
    } else if (const std::string text = describe(figures->disturbance); !text.empty()) {
      told.add(text, "", run + 1);
    }
  }
  const std::string none = lacking.empty() ? "" : "not in " + runs_text(lacking);
  return fmt::format("{}{}{}", none, lacking.empty() || told.empty() ? "" : "; ", told.sentence());
}

std::string mark_of(CaseVerdict verdict) {
  if (verdict == CaseVerdict::faster) return " +";
  return verdict == CaseVerdict::slower ? " -" : "";
}

/// A run's column: marked where it is faster or slower than the first, aligned where one cell is.
Cells column_of(const std::vector<TrendCase>& rows, std::size_t run, Metric metric) {
  Cells marks;
  for (const TrendCase& row : rows) {
    marks.push_back(run == 0 ? "" : mark_of(verdict_of(row, run)));
  }
  const bool marked = std::any_of(marks.begin(), marks.end(),
                                  [](const std::string& mark) { return !mark.empty(); });
  Cells cells;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    cells.push_back(value_cell(figures_of(rows[i], run), metric));
    if (marked && !cells.back().empty()) cells.back() += marks[i].empty() ? "  " : marks[i];
  }
  return cells;
}

std::vector<CaseRow> rows_of(const std::vector<TrendCase>& cases, std::size_t runs, Metric metric) {
  std::vector<Cells> columns;
  for (std::size_t run = 0; run < runs; ++run) columns.push_back(column_of(cases, run, metric));
  std::vector<CaseRow> rows;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const TrendCase& each = cases[i];
    CaseRow row{case_label(each.definition), each.variant, {}, {}, why(each)};
    for (const Cells& column : columns) row.values.push_back(column[i]);
    const CaseComparison* last = each.later.back();
    const Cells speed_up = speed_up_cells(last == nullptr ? CaseComparison{} : *last);
    row.values.insert(row.values.end(), {speed_up[0], speed_up[1]});
    row.verdict = verdict_of(each, runs - 1);
    row.foldable = std::all_of(row.values.begin(), row.values.end(),
                               [](const std::string& value) { return value.empty(); });
    rows.push_back(std::move(row));
  }
  return rows;
}

void add_counts(StyledText& text, const std::vector<TrendCase>& cases, std::size_t runs) {
  text.heading("In all, against Run 1");
  for (std::size_t run = 1; run < runs; ++run) {
    std::vector<CaseVerdict> verdicts;
    for (const TrendCase& each : cases) verdicts.push_back(verdict_of(each, run));
    text.item(fmt::format("{}: {}", run_label(run + 1), counts_of(verdicts)));
  }
}

bool is_any_marked(const std::vector<TrendCase>& cases, std::size_t runs) {
  return std::any_of(cases.begin(), cases.end(), [runs](const TrendCase& each) {
    for (std::size_t run = 1; run < runs; ++run) {
      if (!mark_of(verdict_of(each, run)).empty()) return true;
    }
    return false;
  });
}

std::string legend_of(const std::vector<TrendCase>& cases, double tolerance, std::size_t runs) {
  const bool trainings = std::any_of(cases.begin(), cases.end(), [](const TrendCase& each) {
    return each.definition.training.has_value();
  });
  const bool rates =
      std::ranges::any_of(cases, [](const TrendCase& each) { return is_rate(each.definition); });
  return fmt::format(
      "The speed-up is the time of {} over that of {}, and the verdict is on these two.{} {} {}",
      run_label(1), run_label(runs),
      is_any_marked(cases, runs)
          ? fmt::format(" A + marks what is faster than {}, a - what is slower.", run_label(1))
          : "",
      value_legend(trainings, rates), verdict_legend(tolerance));
}

}  // namespace

std::string trend_report(const Comparisons& comparisons, Metric metric, TableStyle style,
                         std::size_t width) {
  const std::size_t runs = comparisons.size() + 1;
  const std::vector<TrendCase> cases = trend_of(comparisons);
  StyledText text(style, width);
  if (!comparisons.back().cases.empty()) {
    text.paragraph(fmt::format("{} against {}: {}", run_label(runs), run_label(1),
                               answer_of(comparisons.back())));
  }
  add_runs(text, comparisons);
  add_changes(text, comparisons);
  if (!cases.empty()) add_headline_table(text, comparisons);
  add_cautions(text, comparisons);
  if (cases.empty()) {
    text.paragraph("None of the runs has a case to compare.");
    return text.text();
  }
  text.heading("Every case");
  std::vector<StyledText::Column> columns;
  for (std::size_t run = 1; run <= runs; ++run) columns.push_back({run_label(run), true});
  columns.insert(columns.end(), {{"Speed-up", true}, {"95 % CI", true}});
  add_case_table(text, columns, rows_of(cases, runs, metric));
  text.paragraph(legend_of(cases, comparisons.back().tolerance, runs));
  add_counts(text, cases, runs);
  return text.text();
}

}  // namespace linkgain

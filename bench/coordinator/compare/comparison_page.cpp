#include "comparison_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>

#include "comparison_cells.hpp"
#include "linkgain/analysis/training_summary.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/report/report.hpp"

namespace linkgain {
namespace {

/// A run and what it has of the case that the table is of.
struct Row {
  const RunFigures* run = nullptr;
  const CaseFigures* figures = nullptr;  ///< null where it lacks the case
  std::string name;
  const CaseComparison* against_first = nullptr;  ///< null of the first run, and without figures
};

bool uses_nvlink(const CaseFigures* figures) {
  return figures != nullptr && figures->path == Path::nvlink;
}

/// Whether NVLink is what the two sides differ in.
bool is_about_nvlink(const CaseComparison& each) {
  return uses_nvlink(each.before) != uses_nvlink(each.after) &&
         each.before->path != Path::unknown && each.after->path != Path::unknown;
}

std::vector<Row> rows_of(const std::vector<RunComparison>& comparisons,
                         const CaseComparison& headline) {
  const bool trend = comparisons.size() > 1;
  std::vector<Row> rows{
      {comparisons.front().before, headline.before, trend ? run_label(1) : "Before"}};
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    const RunComparison& comparison = comparisons[i];
    rows.push_back({comparison.after, nullptr, trend ? run_label(i + 2) : "After"});
    const auto same = std::find_if(comparison.cases.begin(), comparison.cases.end(),
                                   [&](const CaseComparison& each) {
                                     return each.before == headline.before && each.after != nullptr;
                                   });
    if (same == comparison.cases.end()) continue;
    rows.back().figures = same->after;
    rows.back().against_first = &*same;
  }
  return rows;
}

/// What is alike in the runs of all rows that have the case; absent where it is not.
template <typename Get>
auto common(const std::vector<Row>& rows, Get get)
    -> std::optional<decltype(get(rows.front().run->settings))> {
  const auto first = get(rows.front().run->settings);
  const bool alike = std::all_of(rows.begin(), rows.end(), [&](const Row& row) {
    return row.figures == nullptr || get(row.run->settings) == first;
  });
  return alike ? std::optional(first) : std::nullopt;
}

/// Of a trend, what each run is beside the first, in columns of their own with the reason last.
void add_verdicts(std::vector<StyledText::Column>& columns,
                  std::vector<std::vector<std::string>>& cells, const std::vector<Row>& rows) {
  if (rows.size() == 2) {
    columns.push_back({"Why"});
    for (std::vector<std::string>& row : cells) row.emplace_back();
    return;
  }
  columns.insert(columns.end(), {{"Speed-up", true}, {"Verdict"}, {"Why"}});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const CaseComparison* each = rows[i].against_first;
    if (i == 0) {
      cells[i].insert(cells[i].end(), {"", "", ""});
    } else if (each == nullptr) {
      cells[i].insert(cells[i].end(), {"", std::string(name_of(CaseVerdict::missing)), ""});
    } else {
      const std::string& no_time = rows[i].figures->no_time;
      cells[i].insert(cells[i].end(),
                      {speed_up_cells(*each)[0], std::string(name_of(each->verdict)),
                       no_time.empty() ? each->reason : no_time});
    }
  }
}

/// "GPT-2 124M, 200 steps, ddp, fp32"; without a number of steps "a step".
std::string training_title(const TrainingParameters& training, std::optional<std::int64_t> steps) {
  return fmt::format("{}, {}, {}, {}", readable_model(training.model),
                     steps ? counted(*steps, "step", "steps") : "a step", strategy_text(training),
                     name_of(training.precision));
}

std::string training_cell(const Row& row, bool all_steps) {
  if (row.figures == nullptr || !row.figures->time || !row.figures->no_time.empty()) return {};
  const Seconds step = *row.figures->time;
  return readable_time(all_steps ? time_of_all_steps(row.run->settings, step) : step);
}

/// How the times of the table came about.
std::string steps_text(const std::vector<Row>& rows, std::optional<std::int64_t> steps) {
  if (steps) return fmt::format("Time is {} x that of a step.", counted(*steps, "step", "steps"));
  std::vector<std::int64_t> numbers;
  for (const Row& row : rows) {
    if (row.figures != nullptr) numbers.push_back(planned_steps(row.run->settings));
  }
  return fmt::format(
      "The runs were asked for different numbers of steps ({}): time is that of one, which can be "
      "compared.",
      fmt::join(numbers, ", "));
}

/// Losses after as many steps of the same training, which had better be alike; empty where the
/// runs' steps, in a launch, or tokens differ.
std::string loss_text(const std::vector<Row>& rows) {
  if (rows.size() != 2) return {};
  const std::optional<TrainingResult>& before = rows.front().figures->training;
  const std::optional<TrainingResult>& after = rows.back().figures->training;
  if (!before || !after || !before->last_loss || !after->last_loss) return {};
  const auto launches = [](const Row& row) {
    return static_cast<std::int64_t>(row.figures->launches.size());
  };
  if (before->steps * launches(rows.back()) != after->steps * launches(rows.front())) return {};
  return fmt::format(" Loss after the last block: {:.3f} before, {:.3f} after.", *before->last_loss,
                     *after->last_loss);
}

/// What was trained, for how long, to what loss.
std::string training_text(const Case& definition, const std::vector<Row>& rows,
                          std::optional<std::int64_t> steps) {
  const std::optional<std::string> tokens = common(rows, readable_tokens);
  return fmt::format("{}, {}. {}{}", training_sentence(definition),
                     tokens ? *tokens : "not the same tokens in each run", steps_text(rows, steps),
                     steps && tokens ? loss_text(rows) : "");
}

Path path_of(const Row& row) { return row.figures == nullptr ? Path::unknown : row.figures->path; }

std::string name_cell(const Row& row, bool about_nvlink) {
  if (!about_nvlink || path_of(row) == Path::unknown) return row.name;
  return row.name + (uses_nvlink(row.figures) ? " (Y)" : " (N)");
}

std::string path_cell(const Row& row) {
  const Path path = path_of(row);
  return path == Path::unknown ? "" : std::string(readable_path(path));
}

/// What the table is of: a case, and how the run that it stands for is held against the first.
struct Headline {
  const CaseComparison* each = nullptr;
  Sides sides;
  double threshold = 0.0;
};

void add_training_table(StyledText& text, const std::vector<Row>& rows, const Headline& headline) {
  const CaseComparison& each = *headline.each;
  const bool nvlink = is_about_nvlink(each);
  const std::optional<std::int64_t> steps = common(rows, planned_steps);
  std::vector<std::vector<std::string>> cells;
  for (const Row& row : rows) {
    cells.push_back(
        {name_cell(row, nvlink), training_cell(row, steps.has_value()), path_cell(row)});
  }
  std::vector<StyledText::Column> columns{{nvlink ? "NVLink" : "Run"},
                                          {training_title(*each.definition.training, steps), true},
                                          {"Path"}};
  add_verdicts(columns, cells, rows);
  text.table_with_reasons(columns, cells);
  const std::string what = steps ? what_is_timed(each) : "a step of " + what_is_timed(each);
  text.paragraph(verdict_sentence(what, each, headline.threshold, headline.sides));
  text.paragraph(training_text(each.definition, rows, steps));
}

void add_case_table(StyledText& text, const std::vector<Row>& rows, const Headline& headline) {
  const CaseComparison& each = *headline.each;
  const bool nvlink = is_about_nvlink(each);
  std::vector<std::vector<std::string>> cells;
  for (const Row& row : rows) {
    cells.push_back({name_cell(row, nvlink), value_cell(row.figures, Metric::time),
                     value_cell(row.figures, Metric::busbw), path_cell(row)});
  }
  std::vector<StyledText::Column> columns{
      {nvlink ? "NVLink" : "Run"}, {case_label(each.definition), true}, {"busbw", true}, {"Path"}};
  add_verdicts(columns, cells, rows);
  text.table_with_reasons(columns, cells);
  text.paragraph(verdict_sentence(what_is_timed(each), each, headline.threshold, headline.sides));
}

/// Of the last run that has one.
Headline headline_of(const std::vector<RunComparison>& comparisons) {
  for (std::size_t i = comparisons.size(); i > 0; --i) {
    const RunComparison& comparison = comparisons[i - 1];
    const CaseComparison* each = headline_case(comparison);
    if (each == nullptr) continue;
    Headline headline{each, {}, comparison.threshold};
    if (comparisons.size() > 1) {
      headline.sides = {"in " + run_label(i + 1), "in " + run_label(1)};
    }
    return headline;
  }
  return {};
}

}  // namespace

std::string run_label(std::size_t number) { return fmt::format("Run {}", number); }

void add_page_table(StyledText& text, const std::vector<RunComparison>& comparisons) {
  const Headline headline = headline_of(comparisons);
  if (headline.each == nullptr) {
    text.paragraph(comparisons.size() == 1 ? "No case was measured on both sides."
                                           : "No case was measured in both Run 1 and another run.");
    return;
  }
  const std::vector<Row> rows = rows_of(comparisons, *headline.each);
  const bool training = headline.each->definition.training.has_value();
  (training ? add_training_table : add_case_table)(text, rows, headline);
}

}  // namespace linkgain

#include "comparison_page.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>

#include "comparison_cells.hpp"
#include "linkgain/core/training_summary.hpp"
#include "linkgain/core/units.hpp"
#include "training_words.hpp"
#include "wording.hpp"

namespace linkgain {
namespace {

/// A run and what it has of the case that the table is of.
struct Row {
  const RunFigures* run = nullptr;
  const CaseFigures* figures = nullptr;
  std::string name;
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
                         const CaseComparison& last) {
  const bool trend = comparisons.size() > 1;
  std::vector<Row> rows{{comparisons.front().before, last.before, trend ? run_label(1) : "Before"}};
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    const RunComparison& comparison = comparisons[i];
    const auto same = std::find_if(comparison.cases.begin(), comparison.cases.end(),
                                   [&](const CaseComparison& each) {
                                     return each.before == last.before && each.after != nullptr;
                                   });
    if (same == comparison.cases.end()) continue;
    rows.push_back({comparison.after, same->after, trend ? run_label(i + 2) : "After"});
  }
  return rows;
}

/// What is alike in all rows' runs; absent where it is not.
template <typename Get>
auto common(const std::vector<Row>& rows, Get get)
    -> std::optional<decltype(get(rows.front().run->settings))> {
  const auto first = get(rows.front().run->settings);
  const bool alike = std::all_of(rows.begin(), rows.end(),
                                 [&](const Row& row) { return get(row.run->settings) == first; });
  return alike ? std::optional(first) : std::nullopt;
}

/// "GPT-2 124M, 200 steps, ddp, fp32"; without a number of steps "a step".
std::string training_title(const TrainingParameters& training, std::optional<std::int64_t> steps) {
  return fmt::format("{}, {}, {}, {}", readable_model(training.model),
                     steps ? counted(*steps, "step", "steps") : "a step", strategy_text(training),
                     name_of(training.precision));
}

std::string training_cell(const Row& row, bool all_steps) {
  if (!row.figures->time || !row.figures->no_time.empty()) return {};
  const Seconds step = *row.figures->time;
  return readable_time(all_steps ? time_of_all_steps(row.run->settings, step) : step);
}

/// How the times of the table came about.
std::string steps_text(const std::vector<Row>& rows, std::optional<std::int64_t> steps) {
  if (steps) return fmt::format("Time is {} x that of a step.", counted(*steps, "step", "steps"));
  std::vector<std::int64_t> numbers;
  for (const Row& row : rows) numbers.push_back(planned_steps(row.run->settings));
  return fmt::format(
      "The runs were asked for different numbers of steps ({}): time is that of one, which can be "
      "compared.",
      fmt::join(numbers, ", "));
}

/// Losses after as many steps of the same training, which had better be alike; empty where the
/// runs' steps, in a launch, or tokens differ.
std::string loss_text(const std::vector<Row>& rows) {
  const std::optional<TrainingResult>& before = rows.front().figures->training;
  const std::optional<TrainingResult>& after = rows.back().figures->training;
  if (rows.size() != 2 || !before || !after || !before->last_loss || !after->last_loss) return {};
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

std::string name_cell(const Row& row, bool about_nvlink) {
  const std::string answer = !about_nvlink ? "" : uses_nvlink(row.figures) ? " (Y)" : " (N)";
  return row.name + answer;
}

std::string path_cell(const Row& row) {
  const Path path = row.figures->path;
  return path == Path::unknown ? "" : std::string(readable_path(path));
}

void add_training_table(StyledText& text, const std::vector<Row>& rows, const CaseComparison& last,
                        double threshold) {
  const bool nvlink = is_about_nvlink(last);
  const std::optional<std::int64_t> steps = common(rows, planned_steps);
  std::vector<std::vector<std::string>> cells;
  for (const Row& row : rows) {
    cells.push_back(
        {name_cell(row, nvlink), training_cell(row, steps.has_value()), path_cell(row)});
  }
  text.table({{nvlink ? "NVLink" : "Run"},
              {training_title(*last.definition->training, steps), true},
              {"Path"}},
             cells);
  const std::string what = steps ? what_is_timed(last) : "a step of " + what_is_timed(last);
  text.paragraph(verdict_sentence(what, last, threshold));
  text.paragraph(training_text(*last.definition, rows, steps));
}

void add_case_table(StyledText& text, const std::vector<Row>& rows, const CaseComparison& last,
                    double threshold) {
  const bool nvlink = is_about_nvlink(last);
  std::vector<std::vector<std::string>> cells;
  for (const Row& row : rows) {
    cells.push_back({name_cell(row, nvlink), value_cell(row.figures, Metric::time),
                     value_cell(row.figures, Metric::busbw), path_cell(row)});
  }
  text.table({{nvlink ? "NVLink" : "Run"}, {label_of(last), true}, {"busbw", true}, {"Path"}},
             cells);
  text.paragraph(verdict_sentence(what_is_timed(last), last, threshold));
}

}  // namespace

std::string run_label(std::size_t number) { return fmt::format("Run {}", number); }

void add_page_table(StyledText& text, const std::vector<RunComparison>& comparisons) {
  const RunComparison& latest = comparisons.back();
  const CaseComparison* last = headline_case(latest);
  if (last == nullptr) {
    const bool compared =
        std::any_of(latest.cases.begin(), latest.cases.end(),
                    [](const CaseComparison& each) { return each.speed_up.has_value(); });
    if (!compared) text.paragraph("No case was measured on both sides.");
    return;  // what another program measured has no size to choose by
  }
  const std::vector<Row> rows = rows_of(comparisons, *last);
  const bool training = last->definition->training.has_value();
  (training ? add_training_table : add_case_table)(text, rows, *last, latest.threshold);
}

}  // namespace linkgain

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "comparison_parts.hpp"
#include "linkgain/analysis/training_summary.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/statistics/statistics.hpp"
#include "linkgain/summary/judgement_text.hpp"
#include "linkgain/tables/number_format.hpp"

namespace linkgain {
namespace {

std::string with_interval(const Estimate& speed_up, double tolerance) {
  return readable_ratio(speed_up, tolerance).with_interval();
}

}  // namespace

std::string value_cell(const CaseFigures* figures, Metric metric) {
  if (figures == nullptr || !figures->no_time.empty()) {
    return {};
  }
  switch (metric) {
    case Metric::time:
      return figures->time ? readable_result(figures->definition, *figures->time) : std::string{};
    case Metric::busbw:
      return figures->busbw ? readable_bandwidth(*figures->busbw) : std::string{};
    case Metric::algbw:
      return figures->algbw ? readable_bandwidth(*figures->algbw) : std::string{};
  }
  return {};
}

namespace {

/// Tells whether the case is a number that a program printed, which is no time.
bool is_number(const CaseComparison& each) {
  return each.definition.metric && !is_timed(*each.definition.metric);
}

/// Returns "1.30x as fast", "1.69x as long"; of a number that is no time "30 % lower", with the
/// interval of the ratio behind it.
std::string change_words(const CaseComparison& each, double tolerance) {
  const SpokenRatio spoken = spoken_ratio(*each.speed_up, tolerance);
  if (!is_number(each)) {
    const auto& [estimate, low, high] = spoken.text;
    return spoken.words + (low ? fmt::format(" (95 % CI {} to {})", *low, *high) : "");
  }
  const double speed_up = each.speed_up->value;
  const double now = each.definition.metric->higher_is_better ? speed_up : 1.0 / speed_up;
  return fmt::format("{} ({})",
                     now > 1.0 ? percent_beside(tolerance, now - 1.0, Whole::no) + " higher"
                               : percent_beside(tolerance, 1.0 - now) + " lower",
                     with_interval(*each.speed_up, tolerance));
}

/// Says what the change is worth: "After, the same all-reduce of 1 GiB is 11.7x as fast (95 % CI
/// 11.2x to 12.2x)." `what` is what took the time, as a sentence has it.
std::string verdict_sentence(const std::string& what, const CaseComparison& each,
                             double tolerance) {
  switch (each.verdict) {
    case Verdict::same:
      return fmt::format("After, {} {} within {} ({}).", what,
                         is_number(each) ? "is the same" : "takes the same time",
                         readable_percent(tolerance), with_interval(*each.speed_up, tolerance));
    case Verdict::faster:
    case Verdict::slower:
      return fmt::format("After, {} {} {}.", what,
                         each.verdict == Verdict::slower && !is_number(each) ? "takes" : "is",
                         change_words(each, tolerance));
    case Verdict::inconclusive:
      if (!each.interval) return fmt::format("Inconclusive: {}.", reason_text(each));
      return fmt::format("Inconclusive: {} before and after ({}). Repeat both runs with more {}.",
                         what, with_interval(*each.speed_up, tolerance),
                         is_program(each.definition.operation) ? "rounds" : "launches");
    case Verdict::not_comparable:
    case Verdict::missing:
    case Verdict::wrong_data:
    case Verdict::other_path:
    case Verdict::same_path:
    case Verdict::unknown_path:
    case Verdict::other_launch:
    case Verdict::added:
      return fmt::format("{}: {}: {}.", what, name_of(each.verdict), reason_text(each));
  }
  return {};
}

}  // namespace

std::string counts_of(const std::vector<CaseComparison>& cases) {
  constexpr std::array kVerdicts{Verdict::faster,       Verdict::slower,         Verdict::same,
                                 Verdict::inconclusive, Verdict::not_comparable, Verdict::missing};
  std::vector<std::string> counts;
  for (const Verdict verdict : kVerdicts) {
    const auto count = std::ranges::count(cases, verdict, &CaseComparison::verdict);
    if (count > 0) counts.push_back(fmt::format("{} {}", count, name_of(verdict)));
  }
  return fmt::format("{}", fmt::join(counts, ", "));
}

namespace {

double change_in(const CaseComparison& each) { return std::abs(std::log(each.speed_up->value)); }

bool is_compared(const CaseComparison& each) { return each.interval.has_value(); }

std::string change_text(const CaseComparison& each, double tolerance) {
  const std::string variant = each.variant.empty() ? "" : fmt::format(" ({})", each.variant);
  return fmt::format("Largest change: {}{}, {}.", case_label(each.definition), variant,
                     change_words(each, tolerance));
}

/// Returns "Too few launches to compare." where one launch or run of a side is all that is known;
/// empty otherwise.
std::string too_few_text(const RunComparison& comparison) {
  for (const CaseComparison& each : comparison.cases) {
    if (!each.has(Reason::Kind::one_launch)) continue;
    std::string text = each.reasons.front().words + ".";
    text.front() = 'T';
    return text;
  }
  return {};
}

/// Finds the case that changed most, of those that are decided and were asked for; null where none
/// is.
const CaseComparison* largest_change(const RunComparison& comparison) {
  const std::vector<CaseComparison>& cases = comparison.cases;
  const CaseComparison* largest = nullptr;
  for (const CaseComparison& each : cases) {
    if (!is_change(each.verdict) || !was_asked_for(cases, each)) continue;
    if (largest == nullptr || change_in(each) > change_in(*largest)) largest = &each;
  }
  return largest;
}

/// Says "WRONG DATA in 1 of 6 cases. "; empty where there is none on either side.
std::string wrong_data_text(const std::vector<CaseComparison>& cases) {
  const auto wrong = std::ranges::count_if(cases, has_wrong_side);
  if (wrong == 0) return {};
  return fmt::format("WRONG DATA in {} of {}. ", wrong,
                     counted(std::ssize(cases), "case", "cases"));
}

/// Says that nothing changed, of the cases that could be compared.
std::string no_change_text(const RunComparison& comparison) {
  const std::vector<CaseComparison>& cases = comparison.cases;
  const auto compared = std::ranges::count_if(cases, is_compared);
  const std::string which =
      compared == std::ssize(cases) ? "No case changed"
      : compared == 1
          ? "The one case that could be compared did not change"
          : fmt::format("None of the {} cases that could be compared changed", compared);
  const bool decided =
      std::ranges::count(cases, Verdict::inconclusive, &CaseComparison::verdict) == 0;
  return decided ? fmt::format("{} by more than {}.", which, readable_percent(comparison.tolerance))
                 : which + " significantly.";
}

}  // namespace

std::string answer_of(const RunComparison& comparison) {
  const std::vector<CaseComparison>& cases = comparison.cases;
  if (cases.empty()) return {};
  const CaseComparison* const largest = largest_change(comparison);
  const auto change = [&]() -> std::string {
    if (largest != nullptr) return change_text(*largest, comparison.tolerance);
    if (!has_common_case(comparison)) return "The runs have no case in common.";
    if (std::ranges::none_of(cases, is_compared)) {
      const std::string too_few = too_few_text(comparison);
      return too_few.empty() ? "No case can be compared." : too_few;
    }
    return no_change_text(comparison);
  };
  return fmt::format("{}{}. {}", wrong_data_text(cases), counts_of(cases), change());
}

namespace {

/// A run and what it has of the case that the table is of.
struct Row {
  std::string_view name;
  const RunFigures* run = nullptr;
  const CaseFigures* figures = nullptr;
};

/// The row of either side; the case that stands for a comparison was measured on both.
using Rows = std::array<Row, 2>;

bool uses_nvlink(const CaseFigures& figures) { return figures.path == Path::nvlink; }

/// Tells whether NVLink is what the two sides differ in.
bool is_about_nvlink(const CaseComparison& each) {
  return uses_nvlink(*each.before) != uses_nvlink(*each.after) &&
         each.before->path != Path::unknown && each.after->path != Path::unknown;
}

/// Takes what is alike in the settings of both runs; absent where it is not.
template <typename Get>
auto common(const Rows& rows, Get get) -> std::optional<decltype(get(rows[0].run->settings))> {
  const auto first = get(rows[0].run->settings);
  return first == get(rows[1].run->settings) ? std::optional(first) : std::nullopt;
}

/// Returns "GPT-2 124M, 200 steps, fp32"; without a number of steps "a step". The text below the
/// table has the rest, for which 60 columns have no room.
std::string training_title(const TrainingParameters& training, std::optional<std::int64_t> steps) {
  return fmt::format("{}, {}, {}", readable_model(training.model),
                     steps ? counted(*steps, "step", "steps") : "a step",
                     name_of(training.precision));
}

std::string training_cell(const Row& row, bool all_steps) {
  if (!row.figures->time || !row.figures->no_time.empty()) return {};
  const Seconds step = *row.figures->time;
  return readable_time(all_steps ? time_of_all_steps(row.run->settings, step) : step);
}

/// Says how the times of the table came about.
std::string steps_text(const Rows& rows, std::optional<std::int64_t> steps) {
  if (steps) return fmt::format("Time is {} x that of a step.", counted(*steps, "step", "steps"));
  return fmt::format(
      "The runs were asked for different numbers of steps ({}, {}): time is that of one, which can "
      "be compared.",
      planned_steps(rows[0].run->settings), planned_steps(rows[1].run->settings));
}

/// Names the losses after as many steps of the same training, which had better be alike; empty
/// where the runs' steps, in a launch, or tokens differ.
std::string loss_text(const Rows& rows) {
  const std::optional<TrainingResult>& before = rows[0].figures->training;
  const std::optional<TrainingResult>& after = rows[1].figures->training;
  if (!before || !after || !before->last_loss || !after->last_loss) return {};
  const auto launches = [](const Row& row) {
    return static_cast<std::int64_t>(row.figures->launches.size());
  };
  if (before->steps * launches(rows[1]) != after->steps * launches(rows[0])) return {};
  return fmt::format(" Loss after the last block: {:.3f} before, {:.3f} after.", *before->last_loss,
                     *after->last_loss);
}

/// Says what was trained, for how long, to what loss.
std::string training_text(const Case& definition, const Rows& rows,
                          std::optional<std::int64_t> steps) {
  const std::optional<std::string> tokens = common(rows, readable_tokens);
  return fmt::format("{}, {}. {}{}", training_sentence(definition),
                     tokens ? *tokens : "not the same tokens in each run", steps_text(rows, steps),
                     steps && tokens ? loss_text(rows) : "");
}

std::string name_cell(const Row& row, bool about_nvlink) {
  if (!about_nvlink) return std::string(row.name);
  return fmt::format("{} ({})", row.name, uses_nvlink(*row.figures) ? 'Y' : 'N');
}

std::string path_cell(const Row& row) {
  const Path path = row.figures->path;
  return path == Path::unknown ? "" : std::string(readable_path(path));
}

std::string what_is_timed(const CaseComparison& each, const RunComparison& comparison) {
  if (is_number(each)) return case_label(each.definition);
  const std::optional<ProgramMetric>& metric = each.definition.metric;
  const bool has_size = !each.definition.training && !metric;
  const std::string at = metric && !metric->at.empty() ? " at " + metric->at : "";
  const bool is_other_program =
      metric && std::ranges::count(comparison.changes, "command", &MachineDifference::what) > 0;
  return fmt::format("{} {}{}", is_other_program ? "another" : "the same",
                     spoken_operation(each.definition),
                     has_size ? " of " + readable_bytes(each.definition.size) : at);
}

/// Shows times, bandwidths and paths of either side.
Table headline_table(const Rows& rows, const CaseComparison& each,
                     std::optional<std::int64_t> steps) {
  const bool nvlink = is_about_nvlink(each);
  const auto& training = each.definition.training;
  Table table({{nvlink ? "NVLink" : "Run"},
               {training ? training_title(*training, steps) : case_label(each.definition), kRight},
               {"busbw", kRight, true, 1},
               {.title = "Path", .needs_values = true, .leave_out = 2}});
  for (const Row& row : rows) {
    table.add_row(
        {name_cell(row, nvlink),
         training ? training_cell(row, steps.has_value()) : value_cell(row.figures, Metric::time),
         value_cell(row.figures, Metric::busbw), path_cell(row)});
  }
  return table;
}

}  // namespace

void add_headline(Document& document, const RunComparison& comparison) {
  const CaseComparison* each = headline_case(comparison);
  if (each == nullptr) {
    const std::string too_few = too_few_text(comparison);
    document.paragraph(too_few.empty() ? "No case was measured on both sides." : too_few);
    return;
  }
  const Rows rows{Row{"Before", comparison.before, each->before},
                  Row{"After", comparison.after, each->after}};
  const bool is_of_training = each->definition.training.has_value();
  const std::optional<std::int64_t> steps = common(rows, planned_steps);
  // Another table has the figures, in the row of the case.
  if (is_of_training || is_about_nvlink(*each)) document.table(headline_table(rows, *each, steps));
  if (each != largest_change(comparison)) {
    const bool is_of_one_step = is_of_training && !steps;
    document.paragraph(
        verdict_sentence((is_of_one_step ? "a step of " : "") + what_is_timed(*each, comparison),
                         *each, comparison.tolerance));
  }
  if (is_of_training) document.paragraph(training_text(each->definition, rows, steps));
}

}  // namespace linkgain

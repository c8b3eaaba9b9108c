#include "linkgain/exec/exec_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "exec_verdicts.hpp"
#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/analysis/program_traffic.hpp"
#include "linkgain/analysis/variant_environment.hpp"
#include "linkgain/analysis/variant_judgement.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/exec/command_words.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/screen/screen.hpp"
#include "linkgain/tables/document.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kMostWarnings = 3;

/// What the first of two variants has that the other lacks, as far as counters show it.
enum class Difference { nvlink, p2p, names };

/// Whether each variable that the variants do not have alike decides about NCCL's transport.
bool part_by_transport(const Variant& first, const Variant& other) {
  const auto is_alike_or_transport = [](const Environment& own, const Environment& others) {
    return std::ranges::all_of(own, [&](const auto& each) {
      const EnvironmentVariable* const known = known_variable(each.first);
      return value_of(others, each.first) == each.second ||
             (known != nullptr && known->affects == Affects::transport);
    });
  };
  return is_alike_or_transport(first.environment, other.environment) &&
         is_alike_or_transport(other.environment, first.environment);
}

/// Whether there are two variants, of which the second lacks P2P and no more.
bool lacks_p2p_alone(const Record& record) {
  const std::vector<Variant>& variants = record.settings.variants;
  return variants.size() == 2 && !is_p2p_off(record, variants[0].name) &&
         is_p2p_off(record, variants[1].name) && variants[0].nccl == variants[1].nccl &&
         part_by_transport(variants[0], variants[1]);
}

Difference difference_of(const Record& record) {
  if (!lacks_p2p_alone(record)) return Difference::names;
  const std::vector<ArmEvidence> arms = arms_of(record);
  const std::optional<double> with = nvlink_bytes(arms[0]);
  const std::optional<double> without = most_nvlink_bytes(arms[1]);
  constexpr auto kFloor = static_cast<double>(kNvlinkFloor);
  return with && without && *with > kFloor && *without <= kFloor ? Difference::nvlink
                                                                 : Difference::p2p;
}

std::string_view title_of(Difference difference) {
  switch (difference) {
    case Difference::nvlink:
      return "NVLink";
    case Difference::p2p:
      return "P2P";
    case Difference::names:
      return "Variant";
  }
  return "Variant";
}

std::string row_name(Difference difference, const Record& record, std::size_t variant) {
  if (difference == Difference::names) return record.settings.variants[variant].name;
  return variant == 0 ? "Y" : "N";
}

std::string what_of(const Case& definition) {
  return definition.metric->name == ProgramMetric::kTime ? "Time" : definition.metric->name;
}

const Estimate* ratio_of(const CaseResult& result, const std::string& variant) {
  const auto found = std::ranges::find(result.ratios, variant, &RatioResult::variant);
  return found == result.ratios.end() ? nullptr : &found->ratio;
}

std::string value_text(const CaseResult& result, std::size_t variant) {
  const std::optional<Seconds>& time = result.variants[variant].time;
  return time ? readable_result(result.definition, *time) : "not measured";
}

/// "5 of 10 with host failed or gave no loss".
std::string lost_text(const EndedRuns& ended, const std::string& metric,
                      const std::string& variant) {
  const std::string lost = ended.failed == 0    ? "gave no " + metric
                           : ended.lacking == 0 ? "failed"
                                                : "failed or gave no " + metric;
  return fmt::format("{} of {} with {} {}", ended.lost(), ended.all, variant, lost);
}

/// "6", or "5 of 10" where others gave no number.
std::string counted_runs_text(const Record& record, const CaseResult& result, std::size_t variant) {
  const EndedRuns ended = ended_runs(record, result, variant);
  const std::size_t own = launch_medians(result, variant).size();
  return ended.lost() > 0 ? fmt::format("{} of {}", own, ended.all) : fmt::to_string(own);
}

/// Says which runs of the two variants are missing: who is slow, and so runs out of time or memory,
/// may be among them.
std::string survivors_text(const Record& record, const CaseResult& result, std::size_t variant) {
  std::vector<std::string> lost;
  for (const std::size_t each : {std::size_t{0}, variant}) {
    const EndedRuns ended = ended_runs(record, result, each);
    if (ended.lost() == 0) continue;
    lost.push_back(lost_text(ended, result.definition.metric->name, result.variants[each].variant));
  }
  return fmt::format("{}", fmt::join(lost, ", "));
}

/// Says over how many runs a comparison is: "6 runs each", "5 and 6 runs".
std::string runs_text(const CaseResult& result, std::size_t first, std::size_t other) {
  const std::size_t own = launch_medians(result, first).size();
  const std::size_t others = launch_medians(result, other).size();
  if (own == others) {
    return fmt::format("{} each", counted(static_cast<std::int64_t>(own), "run", "runs"));
  }
  return fmt::format("{} and {} runs", own, others);
}

std::string subject_of(Difference difference, const Record& record) {
  if (difference == Difference::names) return record.settings.variants.front().name;
  return std::string(title_of(difference));
}

/// "a and b", "runs with and without P2P".
std::string sides_of(Difference difference, const Record& record, const std::string& other) {
  const std::string subject = subject_of(difference, record);
  return difference == Difference::names ? fmt::format("{} and {}", subject, other)
                                         : fmt::format("runs with and without {}", subject);
}

/// Of two variants that gave no number: one may not have been run any more.
std::string none_text(const Record& record, const std::string& first, const std::string& other) {
  for (const std::string& each : {first, other}) {
    const bool has_run = std::ranges::any_of(
        record.runs, [&](const ProgramRun& run) { return run.variant == each && !run.warm_up; });
    if (!has_run)
      return fmt::format("{} was not run, since {} gave none", each, each == first ? other : first);
  }
  return "neither gave one";
}

/// Says which of the two variants gave no number.
std::string missing_text(const Record& record, const CaseResult& result, std::size_t variant) {
  const std::string& first = result.variants[0].variant;
  const std::string& other = result.variants[variant].variant;
  const bool some = !launch_medians(result, 0).empty();
  const bool others = !launch_medians(result, variant).empty();
  return some || others ? fmt::format("{} gave none", some ? other : first)
                        : none_text(record, first, other);
}

/// Says why nothing is claimed of the variant beside the first one; empty where there is a ratio
/// that means something.
std::string why_not_compared(const Record& record, const CaseResult& result, std::size_t variant,
                             const Judgement& judgement) {
  if (has_speed_up(judgement.verdict)) return "";
  const std::string& other = result.variants[variant].variant;
  const std::string& metric = result.definition.metric->name;
  if (judgement.has(Reason::Kind::lost_runs)) {
    return fmt::format(
        "No comparison of {} with {}. Of the runs that ended: {}; these may be the slow ones.",
        result.variants[0].variant, other, survivors_text(record, result, variant));
  }
  if (judgement.has(Reason::Kind::few_runs)) {
    return fmt::format("Too few runs to compare the {} of {}: {}.", metric,
                       sides_of(difference_of(record), record, other),
                       runs_text(result, 0, variant));
  }
  return fmt::format("No comparison of {} with {}: {}.", metric, other,
                     missing_text(record, result, variant));
}

Table table_of(const Record& record, const std::vector<const CaseResult*>& results) {
  const Difference difference = difference_of(record);
  const bool several = results.size() > 1;
  std::vector<Table::Column> columns;
  if (several) columns.push_back({.title = "Metric"});
  columns.push_back({.title = std::string(title_of(difference))});
  columns.push_back({several ? "Value" : what_of(results.front()->definition), kRight});
  const std::vector<ArmEvidence> arms = arms_of(record);
  const bool counted_bytes = std::ranges::any_of(
      arms, [](const ArmEvidence& arm) { return nvlink_bytes(arm).has_value(); });
  if (counted_bytes) columns.push_back({"by NVLink", kRight, false, 4});
  columns.push_back({"Runs", kRight, false, 1});
  // Of the first against the row's: with names alone one would take it for the row's own.
  columns.push_back({difference == Difference::names && record.settings.variants.size() > 1
                         ? "Speed-up of " + record.settings.variants.front().name
                         : "Speed-up",
                     kRight, false, 3});
  columns.push_back({"95 % CI", kRight, false, 2});
  columns.front().too_long = Table::TooLong::cut;
  Table table(columns);
  for (const CaseResult* result : results) {
    for (std::size_t i = 0; i < result->variants.size(); ++i) {
      Cells cells;
      if (several) cells.push_back(i == 0 ? result->definition.metric->name : "");
      cells.push_back(row_name(difference, record, i));
      cells.push_back(value_text(*result, i));
      const std::optional<double> bytes = nvlink_bytes(arms[i]);
      const bool first = result == results.front();
      if (counted_bytes) cells.push_back(bytes && first ? readable_traffic(*bytes) : "");
      cells.push_back(counted_runs_text(record, *result, i));
      const bool compared = i > 0 && has_speed_up(judge_variants(record, *result, i).verdict);
      const Estimate* const ratio = ratio_of(*result, result->variants[i].variant);
      cells.push_back(compared ? readable_ratio(*ratio).estimate : "");
      cells.push_back(compared ? readable_ratio(*ratio).interval() : "");
      table.add_row(cells);
    }
  }
  return table;
}

std::vector<const CaseResult*> measured(const Record& record) {
  std::vector<const CaseResult*> results;
  for (const CaseResult& result : record.cases) {
    if (!result.samples.empty()) results.push_back(&result);
  }
  return results;
}

/// What a sentence is about: what was asked for first, else the wall time. Nothing where no run
/// counts.
const CaseResult* main_result(const Record& record) {
  if (measured(record).empty()) return nullptr;
  const CaseResult* main = nullptr;
  for (const CaseResult& result : record.cases) {
    const std::string& name = result.definition.metric->name;
    if (name == ProgramMetric::kStartUp) continue;
    const bool asked = name != ProgramMetric::kTime;
    if (main == nullptr || asked) main = &result;
    if (asked) break;
  }
  return main;
}

/// "it takes 23 % less time", "loss is 23 % lower", "tokens is 30 % higher".
std::string change_text(const Case& definition, double ratio) {
  const ProgramMetric& metric = *definition.metric;
  const bool better = ratio >= 1.0;
  if (!is_timed(metric)) {
    const double now = metric.higher_is_better ? ratio : 1.0 / ratio;
    return fmt::format("{} is {} {}", metric.name,
                       readable_percent(std::abs(now - 1.0), now > 1.0 ? Whole::no : Whole::yes),
                       now > 1.0 ? "higher" : "lower");
  }
  const std::string what = metric.name == ProgramMetric::kTime ? "it" : "a " + metric.name;
  return better
             ? fmt::format("{} takes {} less time", what, readable_percent(less_time(ratio)))
             : fmt::format("{} is {} slower", what, readable_percent(-less_time(ratio), Whole::no));
}

std::string comparison_of(const Record& record, const CaseResult& result, std::size_t variant) {
  const Judgement judgement = judge_variants(record, result, variant);
  std::string why = why_not_compared(record, result, variant, judgement);
  if (!why.empty()) return why;
  const Difference difference = difference_of(record);
  const std::string subject = subject_of(difference, record);
  const std::string& other = result.variants[variant].variant;
  const Estimate* const ratio = ratio_of(result, other);
  const RatioText text = readable_ratio(*ratio);
  const std::string than = difference == Difference::names ? " than with " + other : "";
  const std::string runs = runs_text(result, 0, variant);
  const std::string& metric = result.definition.metric->name;
  const std::string sides = sides_of(difference, record, other);
  if (is_one(ratio->value) && all_agree(result, variant)) {
    return fmt::format("No difference between {}: all runs gave the same {}{}.", sides, metric,
                       ratio->interval ? ", to the digits printed" : "");
  }
  if (!ratio->interval) {
    return fmt::format(
        "With {} {}{} ({}). All runs of a variant agree, so there is no confidence interval.",
        subject, change_text(result.definition, ratio->value), than, text.estimate);
  }
  const std::string figures = fmt::format("({} over {})", text.with_interval(), runs);
  if (!is_change(judgement.verdict)) {
    const std::string what = metric == ProgramMetric::kTime ? "" : fmt::format(" in {}", metric);
    return fmt::format("No difference shown between {}{} {}.", sides, what, figures);
  }
  return fmt::format("With {} {}{} {}.", subject, change_text(result.definition, ratio->value),
                     than, figures);
}

/// What answer_of() begins with where a run's path is wrong, else empty.
std::string alarm_of(const Record& record) {
  const CaseResult* const main = main_result(record);
  return has_warning(record, ExitCode::wrong_path) && main != nullptr && main->variants.size() > 1
             ? "WRONG PATH"
             : "";
}

std::string answer_of(const Record& record) {
  const CaseResult* const main = main_result(record);
  if (main == nullptr) return "No comparison: no run counts.";
  if (main->variants.size() == 1) return "No comparison: one variant ran.";
  std::vector<std::string> sentences;
  for (std::size_t i = 1; i < main->variants.size(); ++i) {
    sentences.push_back(comparison_of(record, *main, i));
  }
  const std::string alarm = alarm_of(record);
  return fmt::format("{}{}", alarm.empty() ? "" : alarm + ", see the warning. ",
                     fmt::join(sentences, " "));
}

std::string command_text(const Record& record) {
  return shown_command(record.settings.program->command);
}

std::string end_text(const Record& record) {
  return record.status == RunStatus::complete && record.wall_seconds
             ? fmt::format("finished in {:.0f} s", *record.wall_seconds)
             : fmt::format("not complete: {}", name_of(record.status));
}

}  // namespace

std::string exec_screen(const Record& record, const std::string& footer, const ScreenStyle& style) {
  std::string text =
      with_end(one_line(fmt::format("{}, {}", record.machine.host, describe_ranks(record.machine))),
               end_text(record), style);
  text += cut(command_text(record), style.columns, style) + "\n\n";
  const std::string answer = "\n" + in_lines(answer_of(record), alarm_of(record), style);
  std::vector<const CaseResult*> results = measured(record);
  const std::size_t shown_before = results.size();
  const std::size_t warnings = std::min(kMostWarnings, record.warnings.size());
  const std::size_t used = line_count(text + answer) + 2 + warnings;  // head of the table, footer
  const std::size_t room = kMostScreenLines - std::min(kMostScreenLines, used);
  const std::size_t height = std::max<std::size_t>(1, record.settings.variants.size());
  while (results.size() > 1 &&
         results.size() * height + (results.size() < shown_before ? 1 : 0) > room) {
    results.pop_back();
  }
  if (!results.empty()) text += to_terminal(table_of(record, results), style);
  if (results.size() < shown_before) {
    text += fmt::format("  and {} in the report\n",
                        counted(static_cast<std::int64_t>(shown_before - results.size()),
                                "metric more", "metrics more"));
  }
  text += warning_lines(record, kMostWarnings, style);
  text += footer + "\n" + answer;
  return style.utf8 ? text : in_ascii(std::move(text));
}

std::string exec_card(const Record& record) {
  constexpr ScreenStyle kStyle{.columns = kCardColumns};
  std::string text = with_end(one_line(describe_ranks(record.machine)), end_text(record), kStyle);
  text += card_circumstances(record, counted(std::ssize(record.runs), "run", "runs"));
  const std::string end = in_lines(answer_of(record), kStyle) + "$ " + command_text(record) + "\n";
  const CaseResult* const main = main_result(record);
  if (main != nullptr) text += to_terminal(table_of(record, {main}), kStyle);
  constexpr std::size_t kFences = 2;
  text += card_warnings(record, line_count(text + end) + kFences);
  return fenced(text + end);
}

Document exec_details(const Record& record) {
  const std::vector<const CaseResult*> results = measured(record);
  Document document;
  if (!results.empty()) {
    document.heading("Metrics");
    document.paragraph(fmt::format(
        "Values are geometric means over runs of the whole command. A speed-up is {} against the "
        "row's variant, its interval Welch's.",
        record.settings.variants.front().name));
    document.table(table_of(record, results));
  }
  if (record.link_errors) {
    document.heading("Health");
    document.paragraph(link_errors_line(record.link_errors));
  }
  document.add(circumstances(record));
  return document;
}

Document exec_document(const Record& record) {
  const std::string host = record.machine.host.empty() ? "an unnamed host" : record.machine.host;
  const std::string wall =
      record.wall_seconds ? fmt::format(", in {:.1f} s of wall time", *record.wall_seconds) : "";
  Document document;
  document.title("linkgain exec: " + command_text(record));
  document.paragraph(fmt::format("Measured on {} ({}) at {}{}: {}.", host,
                                 describe_ranks(record.machine), record.started, wall,
                                 name_of(record.status)));
  if (const CaseResult* const main = main_result(record)) {
    document.table(table_of(record, {main}));
  }
  document.paragraph(strong(answer_of(record)));
  document.add(exec_details(record));
  return document;
}

}  // namespace linkgain

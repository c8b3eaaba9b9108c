#include "linkgain/baseline/check_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/summary/judgement_text.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/junit.hpp"
#include "linkgain/tables/prometheus.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

std::string percent(double log) {
  const double value = 100.0 * std::expm1(log);
  constexpr double kGreatestShown = 99'900.0;  // of two launches an interval may end anywhere
  if (value > kGreatestShown) return fmt::format(">+{:.0f}", kGreatestShown);
  return fmt::format("{:+.{}f}", value, std::abs(value) < 9.995 ? 2 : 1);
}

std::string settling_text(const CaseCheck& check) {
  const bool runs = check.replicate == Replicate::run;
  const std::optional<Settling>& settling = check.settling;
  if (!settling) {
    return fmt::format("too close to the tolerance for {} {} to settle it", kMostSettling,
                       runs ? "runs" : "launches");
  }
  const std::string count = runs ? counted(settling->launches, "run", "runs")
                                 : counted(settling->launches, "launch", "launches");
  return settling->baseline_too
             ? fmt::format("{} would settle it, if the baseline had as many", count)
             : fmt::format("{} would settle it", count);
}

/// Returns "1 missing", "2 slower": those of these verdicts that there are.
std::vector<std::string> counts(const CheckResult& result, bool failing) {
  std::vector<std::string> parts;
  for (const Verdict verdict : kVerdictsOfChecks) {
    const auto count = std::ranges::count_if(result.cases, [&](const CaseCheck& check) {
      return check.verdict == verdict && fails(check) == failing;
    });
    if (count == 0 || verdict == Verdict::added) continue;
    const bool good = verdict == Verdict::faster;
    parts.push_back(
        fmt::format("{} {}{}", count, name_of(verdict), good ? " (suspiciously fast)" : ""));
  }
  return parts;
}

/// Puts first what fails, the slowest before others, then what is open, suspiciously fast, same and
/// added.
std::vector<const CaseCheck*> worst_first(const CheckResult& result) {
  std::vector<const CaseCheck*> ordered;
  for (const CaseCheck& check : result.cases) ordered.push_back(&check);
  std::ranges::stable_sort(ordered, [](const CaseCheck* a, const CaseCheck* b) {
    if (a->verdict != b->verdict) return a->verdict < b->verdict;
    return std::abs(a->shift.value_or(0.0)) > std::abs(b->shift.value_or(0.0));
  });
  return ordered;
}

/// Tells whether a reader must see the case: it fails, is open or suspiciously fast.
bool worth_a_line(const CaseCheck& check) {
  return fails(check.verdict) || is_open(check.verdict) || check.verdict == Verdict::faster;
}

/// Shows a shift of logarithms as a share of the reference: "+7.12 %", "-12.3 %"; empty where
/// absent.
std::string shift_text(const std::optional<double>& log) {
  return log ? percent(*log) + " %" : std::string();
}

/// Returns "+6.1 to +8.3 %"; empty without an interval.
std::string interval_text(const CaseCheck& check) {
  if (!check.interval) return {};
  return fmt::format("{} to {} %", percent(check.interval->low), percent(check.interval->high));
}

/// Says why, and what would settle it; may be empty.
std::string note_text(const CaseCheck& check) {
  const bool open = check.verdict == Verdict::inconclusive && check.interval.has_value();
  if (!open) return one_line(reason_text(check));
  return fmt::format("{}{}{}", settling_text(check), check.reasons.empty() ? "" : "; ",
                     one_line(reason_text(check)));
}

/// Says all of it in a sentence: "slower: 3.60 ms, baseline 3.27 ms, +10.1 % (95 % CI +9.0 to +11.2
/// %), tolerance ±5 %; ...".
std::string sentence(const CaseCheck& check) {
  std::string text(name_of(check.verdict));
  const char* separator = ": ";
  const auto append = [&](const std::string& part) {
    if (part.empty()) return;
    text += separator + part;
    separator = ", ";
  };
  if (check.time) append(readable_result(check.definition, *check.time));
  if (check.reference) append("baseline " + readable_result(check.definition, *check.reference));
  const std::string interval = interval_text(check);
  const std::string shift =
      shift_text(check.shift) + (check.shift && is_rate(check.definition) ? " time per unit" : "");
  append(interval.empty() ? shift : fmt::format("{} (95 % CI {})", shift, interval));
  if (check.reference) append("tolerance " + readable_tolerance(check.tolerance));
  const std::string note = note_text(check);
  return note.empty() ? text : fmt::format("{}; {}", text, note);
}

/// Returns "FAILED", "INCONCLUSIVE" or "PASSED".
std::string outcome(const CheckResult& result) {
  const ExitCode code = exit_code_of(result);
  if (code == ExitCode::problem_found) return "FAILED";
  return code == ExitCode::inconclusive ? "INCONCLUSIVE" : "PASSED";
}

/// What the intervals of a check are from.
enum class Coverage { nothing, launches, some_launches, runs };

Coverage coverage_of(const CheckResult& result) {
  bool launches = false;
  bool runs = false;
  for (const CaseCheck& check : result.cases) {
    if (!check.interval) continue;
    (check.replicate == Replicate::run ? runs : launches) = true;
  }
  if (!launches) return runs ? Coverage::runs : Coverage::nothing;
  return runs ? Coverage::some_launches : Coverage::launches;
}

/// Ends the summary: an unchanged program whose runs lie far apart may fail where launches are
/// compared.
std::string_view coverage_clause(Coverage coverage) {
  switch (coverage) {
    case Coverage::nothing:
      return "";
    case Coverage::launches:
      return "; judged by launches, not runs";
    case Coverage::some_launches:
      return "; some judged by launches, not runs";
    case Coverage::runs:
      return "; judged by runs";
  }
  return "";
}

/// Says what the rate of false alarms holds for; may be empty.
std::string coverage_text(Coverage coverage) {
  switch (coverage) {
    case Coverage::nothing:
      return {};
    case Coverage::launches:
    case Coverage::some_launches:
      return fmt::format(
          "{} rate of false alarms, {:.0f} %, is that of launches within a run. How far runs of "
          "the "
          "same program lie apart is not in the baseline: make it from {} runs (records) or more.",
          coverage == Coverage::launches ? "The" : "For some cases the",
          100.0 * kFalseDiscoveryRate, kEnoughRuns);
    case Coverage::runs:
      return fmt::format(
          "The rate of false alarms, {:.0f} %, is that of runs: the deviation between the "
          "baseline's runs counts.",
          100.0 * kFalseDiscoveryRate);
  }
  return {};
}

/// Returns "FAILED: 2 of 28 cases fail (1 missing, 1 slower); 3 inconclusive, 1 faster, 22 same;
/// judged by runs".
std::string summary_text(const CheckResult& result) {
  const int added = count_of(result, Verdict::added);
  const int held = static_cast<int>(result.cases.size()) - added;
  const auto failed =
      std::ranges::count_if(result.cases, [](const CaseCheck& check) { return fails(check); });
  std::string text = fmt::format("{}: {} of {} {}", outcome(result), failed,
                                 counted(held, "case", "cases"), failed == 1 ? "fails" : "fail");
  if (failed > 0) text += fmt::format(" ({})", fmt::join(counts(result, true), ", "));
  const std::vector<std::string> rest = counts(result, false);
  if (!rest.empty()) text += fmt::format("; {}", fmt::join(rest, ", "));
  if (added > 0) text += fmt::format("; {} not in the baseline", added);
  if (std::ranges::any_of(result.warnings, disturbs)) text += "; disturbed by other work";
  const bool was_cut = std::ranges::any_of(result.warnings, [](const Warning& warning) {
    return is(warning, WarningCode::budget_used_up);
  });
  if (was_cut && count_of(result, Verdict::missing) > 0) {
    text += "; the budget ended the run, measure again with a longer --budget";
  }
  return text + std::string(coverage_clause(coverage_of(result)));
}

/// Returns "node1 (8 launches) against the baseline of 2026-01-02: 2 x NVIDIA H200, NVLink,
/// NCCL 2.28"
std::string subject_text(const CheckResult& result) {
  std::vector<std::string> sources;
  for (const BaselineSource& source : result.sources) {
    sources.push_back(
        fmt::format("{} ({})", source.host, counted(source.launches, "launch", "launches")));
  }
  return fmt::format("{} against the baseline of {}: {}", fmt::join(sources, ", "), result.made,
                     key_text(result.key));
}

using Checks = std::vector<const CaseCheck*>;

std::string readable(const CaseCheck& check, const std::optional<Seconds>& time) {
  return time ? readable_result(check.definition, *time) : std::string("–");
}

/// What names cases in a table: a terminal has no room for what all of them have in common.
enum class CaseNames { labels, exact };

/// Tells whether it is marked as of its operation's largest size, which programs do not have.
bool is_marked(const CaseCheck& check) {
  return check.headline && !is_program(check.definition.operation);
}

Text verdict_cell(const CaseCheck& check, bool headline, CaseNames names) {
  const Text::Form form = fails(check) ? Text::Form::strong : Text::Form::plain;
  Text text = Text::Run{std::string(name_of(check.verdict)), form, tone_of(check.verdict)};
  return headline && names == CaseNames::labels ? text + " *" : text;
}

Text case_cell(const CaseCheck& check, CaseNames names) {
  return names == CaseNames::labels ? Text(case_label(check.definition))
                                    : code(case_name(check.definition));
}

std::string alike_key(const CaseCheck& check) {
  const bool unmeasured =
      check.verdict == Verdict::missing || check.verdict == Verdict::other_launch;
  return unmeasured ? check.variant + "\n" + reason_text(check) : std::string();
}

Cells row_of(const CaseCheck& check, CaseNames names) {
  return {verdict_cell(check, is_marked(check), names),
          case_cell(check, names),
          check.variant,
          readable(check, check.reference),
          readable(check, check.time),
          shift_text(check.shift),
          interval_text(check),
          readable_tolerance(check.tolerance),
          note_text(check)};
}

Cells row_of_several(const Checks& checks, CaseNames names) {
  const CaseCheck& first = *checks.front();
  std::vector<std::string> labels;
  for (const CaseCheck* check : checks) labels.push_back(case_label(check->definition));
  const bool headline =
      std::ranges::any_of(checks, [](const CaseCheck* check) { return is_marked(*check); });
  return {verdict_cell(first, headline, names),
          fmt::format("{} cases", checks.size()),
          first.variant,
          "",
          "–",
          "",
          "",
          "",
          fmt::format("{}: {}", note_text(first), first_named(labels))};
}

bool has_one_tolerance(const Checks& checks) {
  return std::ranges::all_of(checks, [&](const CaseCheck* check) {
    return check->tolerance == checks.front()->tolerance;
  });
}

/// Returns the launches of the baseline and now: "8, 6", or of both "8".
std::string launches_cell(const CaseCheck& check) {
  return check.reference_launches == check.launches
             ? fmt::format("{}", check.launches)
             : fmt::format("{}, {}", check.reference_launches, check.launches);
}

/// Tells whether each row that has an interval is over as many launches.
bool are_alike(const std::vector<std::string>& launches) {
  std::set<std::string> known(launches.begin(), launches.end());
  known.erase("");
  return known.size() < 2;
}

/// Adds the table of what a reader must see, the worst first, and the tolerance of all where it is
/// one; nothing where all is well. Missing cases of one variant and reason are one row. Where
/// launches differ from case to case each row says over how many its interval is.
void add_check_rows(Document& document, const CheckResult& result, CaseNames names) {
  Checks shown = worst_first(result);
  std::erase_if(shown, [](const CaseCheck* check) { return !worth_a_line(*check); });
  if (shown.empty()) return;
  std::vector<Cells> rows;
  std::vector<std::string> launches;
  for (const Checks& checks : grouped(shown, alike_key)) {
    const CaseCheck& first = *checks.front();
    launches.push_back(checks.size() == 1 && first.interval ? launches_cell(first) : "");
    rows.push_back(checks.size() > 1 ? row_of_several(checks, names) : row_of(first, names));
  }
  const bool one_tolerance = has_one_tolerance(shown);
  const bool says_launches = !are_alike(launches);
  constexpr std::size_t kTolerance = 7;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (one_tolerance) rows[i][kTolerance] = "";
    rows[i].insert(rows[i].end() - 1, says_launches ? launches[i] : "");
  }
  Table table({{"Verdict"},
               {"Case"},
               {.title = "Variant", .leave_out = 6},
               {"Baseline", kRight, false, 3},
               {"Now", kRight, false, 4},
               {"Shift", kRight},
               {"95 % CI", kRight, false, 5},
               {.title = "Tolerance", .needs_values = true, .leave_out = 1},
               {"Launches", kRight, true, 2},
               {.title = "Why", .too_long = Table::TooLong::below}});
  for (Cells& row : rows) table.add_row(std::move(row));
  document.table(std::move(table));
  if (says_launches) document.paragraph("Launches: of the baseline, and now");
  if (std::ranges::any_of(shown, [](const CaseCheck* each) { return is_rate(each->definition); })) {
    document.paragraph(kRateLegend);
  }
  if (one_tolerance) {
    document.paragraph("Tolerance: " + readable_tolerance(shown.front()->tolerance));
  }
}

bool shows_headline(const CheckResult& result) {
  return std::ranges::any_of(
      result.cases, [](const CaseCheck& check) { return is_marked(check) && worth_a_line(check); });
}

void add_coverage(Document& document, const CheckResult& result) {
  const std::string covered = coverage_text(coverage_of(result));
  if (!covered.empty()) document.paragraph(covered);
}

constexpr const char* kCsvHeader =
    "case,variant,verdict,fails,headline,reference_s,time_s,reference_launches,launches,shift,"
    "shift_low,shift_high,lower,upper,launches_to_settle,baseline_too,reason,"
    "disturbed_samples,level_change,judged_by,runs_to_settle,disturbed_by\n";

std::string share_field(const std::optional<double>& share) {
  return share ? fmt::format("{:.6g}", *share) : std::string();
}

std::string csv_row(const CaseCheck& check, const std::string& by) {
  const std::optional<Settling>& settling = check.settling;
  const std::string number = settling ? fmt::format("{}", settling->launches) : std::string();
  const bool runs = check.replicate == Replicate::run;
  const std::vector<std::string> fields{
      csv_field(std::string_view(case_name(check.definition))),
      csv_field(std::string_view(check.variant)),
      std::string(name_of(check.verdict)),
      fails(check) ? "true" : "false",
      check.headline ? "true" : "false",
      csv_field(seconds_of(check.reference)),
      csv_field(seconds_of(check.time)),
      fmt::format("{}", check.reference_launches),
      fmt::format("{}", check.launches),
      share_field(share_of(check.shift)),
      share_field(share_of(low_of(check.interval))),
      share_field(share_of(high_of(check.interval))),
      csv_field(check.tolerance.lower),
      csv_field(check.tolerance.upper),
      runs ? std::string() : number,
      settling ? std::string(settling->baseline_too ? "true" : "false") : std::string(),
      csv_field(std::string_view(reason_text(check))),
      csv_field(check.disturbance.samples),
      csv_field(check.disturbance.level_change),
      check.interval ? std::string(name_of(check.replicate)) : std::string(),
      runs ? number : std::string(),
      by};
  return fmt::format("{}\n", fmt::join(fields, ","));
}

JunitOutcome junit_outcome(const CaseCheck& check) {
  if (fails(check)) return JunitOutcome::failed;
  const bool open =
      fails(check.verdict) || is_open(check.verdict) || check.verdict == Verdict::added;
  return open ? JunitOutcome::skipped : JunitOutcome::passed;
}

/// Tells whether the case is a number that a program printed, which is no time.
bool is_number(const CaseCheck& check) {
  return check.definition.metric && !is_timed(*check.definition.metric);
}

/// Gives such a number in its own unit; nothing of a time.
std::optional<double> number_of(const CaseCheck& check, const std::optional<Seconds>& sample) {
  if (!is_number(check) || !sample) return std::nullopt;
  return from_sample(*check.definition.metric, *sample);
}

/// A gauge with its help, and its value for a case where it has one.
struct CaseMetric {
  const char* name;
  const char* help;
  std::function<std::optional<double>(const CaseCheck&)> value;
  bool in_own_unit = false;  ///< which is a label, where it is known
};

const std::vector<CaseMetric>& case_metrics() {
  static const std::vector<CaseMetric> metrics{
      {"linkgain_check_case_failed", "1 where the case fails.",
       [](const CaseCheck& c) { return fails(c) ? 1.0 : 0.0; }},
      {"linkgain_check_case_inconclusive", "1 where the verdict is inconclusive.",
       [](const CaseCheck& c) { return c.verdict == Verdict::inconclusive ? 1.0 : 0.0; }},
      {"linkgain_check_case_time_seconds", "Time per operation, geometric mean of launch medians.",
       [](const CaseCheck& c) { return is_number(c) ? std::nullopt : seconds_of(c.time); }},
      {"linkgain_check_case_baseline_seconds", "The same in the baseline.",
       [](const CaseCheck& c) { return is_number(c) ? std::nullopt : seconds_of(c.reference); }},
      {"linkgain_check_metric_value", "Number that a program printed, in the label's unit.",
       [](const CaseCheck& c) { return number_of(c, c.time); }, true},
      {"linkgain_check_metric_baseline", "The same in the baseline.",
       [](const CaseCheck& c) { return number_of(c, c.reference); }, true},
      {"linkgain_check_case_shift_ratio",
       "Change of the time over the baseline's, 0.05 is 5 % slower.",
       [](const CaseCheck& c) { return share_of(c.shift); }},
      {"linkgain_check_case_shift_low_ratio", "Lower end of the 95 % interval of the change.",
       [](const CaseCheck& c) { return share_of(low_of(c.interval)); }},
      {"linkgain_check_case_shift_high_ratio", "Upper end of the 95 % interval of the change.",
       [](const CaseCheck& c) { return share_of(high_of(c.interval)); }},
  };
  return metrics;
}

/// Returns when the latest of what was checked began.
std::optional<double> latest_start(const CheckResult& result) {
  std::optional<double> latest;
  for (const BaselineSource& source : result.sources) {
    latest = std::max(latest, timestamp_of(source.started));
  }
  return latest;
}

void add_exit_status(PrometheusText& text, ExitCode status) {
  text.gauge("linkgain_check_exit_status",
             "0 passed, 1 failed, 2 nothing could be checked, 7 inconclusive.");
  text.value(static_cast<int>(status));
}

}  // namespace

Document check_table(const CheckResult& result) {
  Document document;
  document.paragraph(subject_text(result));
  add_check_rows(document, result, CaseNames::labels);
  if (shows_headline(result)) document.paragraph("* of its operation's largest size");
  add_coverage(document, result);
  for (const Warning& warning : result.warnings) {
    document.item(Document::Item{toned("warning:", Tone::doubtful) + " " + with_code(warning.text),
                                 with_code(warning.advice)});
  }
  document.paragraph(summary_text(result));
  return document;
}

Document check_report(const CheckResult& result, const std::string& pictures) {
  Document document;
  document.heading("linkgain check: " + outcome(result));
  document.paragraph(summary_text(result) + ".");
  if (!pictures.empty()) document.figure(pictures);
  document.paragraph(subject_text(result) + ".");
  add_check_rows(document, result, CaseNames::exact);
  add_coverage(document, result);
  for (const Warning& warning : result.warnings) {
    document.item(strong(warning.code) + ": " + with_code(warning.text) +
                  (warning.advice.empty() ? "" : "; ") + with_code(warning.advice));
  }
  return document;
}

std::string check_csv(const CheckResult& result) {
  std::string text = kCsvHeader;
  const std::string by = disturbed_by(result.warnings);
  for (const CaseCheck& check : result.cases) text += csv_row(check, by);
  return text;
}

std::string check_junit(const CheckResult& result) {
  JunitSuite suite{"linkgain check", one_line(subject_text(result)), summary_text(result), {}};
  for (const CaseCheck& check : result.cases) {
    suite.cases.push_back({"linkgain." + check.variant, case_name(check.definition),
                           junit_outcome(check), std::string(name_of(check.verdict)),
                           one_line(sentence(check))});
  }
  return junit_text(suite);
}

std::string unchecked_junit(const std::string& reason) {
  return junit_text({"linkgain check",
                     "nothing was checked",
                     "nothing was checked",
                     {{"linkgain", "check", JunitOutcome::failed, "error", one_line(reason)}}});
}

std::string unchecked_prometheus() {
  PrometheusText text;
  add_exit_status(text, ExitCode::usage);
  return text.text();
}

std::string check_prometheus(const CheckResult& result) {
  PrometheusText text;
  add_exit_status(text, exit_code_of(result));
  text.gauge("linkgain_check_started_timestamp_seconds", "When the latest run checked began.");
  text.value(latest_start(result));
  text.gauge("linkgain_check_disturbed", "1 where other work disturbed a run checked.");
  text.value(disturbed_by(result.warnings).empty() ? 0.0 : 1.0);
  text.gauge("linkgain_check_cases", "Cases and variants by verdict.");
  for (const Verdict verdict : kVerdictsOfChecks) {
    text.value(count_of(result, verdict), {{"verdict", name_of(verdict)}});
  }
  for (const CaseMetric& metric : case_metrics()) {
    text.gauge(metric.name, metric.help);
    for (const CaseCheck& check : result.cases) {
      if (check.verdict == Verdict::added) continue;
      const std::string name = case_name(check.definition);
      const std::string unit = unit_of(check.definition);
      PrometheusText::Labels labels{{"case", name}, {"variant", check.variant}};
      if (metric.in_own_unit && !unit.empty()) labels.push_back({"unit", unit});
      text.value(metric.value(check), labels);
    }
  }
  return text.text();
}

}  // namespace linkgain

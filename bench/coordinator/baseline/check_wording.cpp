#include "check_wording.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

std::string percent(double log) {
  const double value = 100.0 * std::expm1(log);
  return fmt::format("{:+.{}f}", value, std::abs(value) < 9.995 ? 2 : 1);
}

std::string settling_text(const std::optional<Settling>& settling) {
  if (!settling) {
    return fmt::format("it lies too near to the tolerance for {} launches to settle it",
                       kMostSettling);
  }
  const std::string launches = counted(settling->launches, "launch", "launches");
  return settling->baseline_too
             ? fmt::format("{} would settle it, if the baseline had as many", launches)
             : fmt::format("{} would settle it", launches);
}

/// "1 missing", "2 slower": those of these verdicts that there are.
std::vector<std::string> counts(const CheckResult& result, bool failing) {
  std::vector<std::string> parts;
  for (const RegressionVerdict verdict : kRegressionVerdicts) {
    const int count = count_of(result, verdict);
    if (count == 0 || fails(verdict) != failing || verdict == RegressionVerdict::added) continue;
    const bool good = verdict == RegressionVerdict::faster;
    parts.push_back(
        fmt::format("{} {}{}", count, name_of(verdict), good ? " (too good to be true)" : ""));
  }
  return parts;
}

}  // namespace

std::vector<const CaseCheck*> worst_first(const CheckResult& result) {
  std::vector<const CaseCheck*> ordered;
  for (const CaseCheck& check : result.cases) ordered.push_back(&check);
  std::stable_sort(ordered.begin(), ordered.end(), [](const CaseCheck* a, const CaseCheck* b) {
    if (a->verdict != b->verdict) return a->verdict < b->verdict;
    return std::abs(a->shift.value_or(0.0)) > std::abs(b->shift.value_or(0.0));
  });
  return ordered;
}

bool worth_a_line(const CaseCheck& check) {
  return fails(check.verdict) || is_open(check.verdict) ||
         check.verdict == RegressionVerdict::faster;
}

std::string shift_text(const std::optional<double>& log) {
  return log ? percent(*log) + " %" : std::string();
}

std::string interval_text(const CaseCheck& check) {
  if (!check.low || !check.high) return {};
  return fmt::format("{} to {} %", percent(*check.low), percent(*check.high));
}

std::string note_text(const CaseCheck& check) {
  const bool open = check.verdict == RegressionVerdict::inconclusive && check.low.has_value();
  if (!open) return one_line(check.reason);
  return fmt::format("{}{}{}", settling_text(check.settling), check.reason.empty() ? "" : "; ",
                     one_line(check.reason));
}

std::string sentence(const CaseCheck& check) {
  std::string text(name_of(check.verdict));
  const char* separator = ": ";
  const auto append = [&](const std::string& part) {
    if (part.empty()) return;
    text += separator + part;
    separator = ", ";
  };
  if (check.time) append(readable_time(*check.time));
  if (check.reference) append("baseline " + readable_time(*check.reference));
  const std::string interval = interval_text(check);
  const std::string shift = shift_text(check.shift);
  append(interval.empty() ? shift : fmt::format("{} (95 % CI {})", shift, interval));
  if (check.reference) append("tolerance " + readable_tolerance(check.tolerance));
  const std::string note = note_text(check);
  return note.empty() ? text : fmt::format("{}; {}", text, note);
}

std::string title(const CaseCheck& check) {
  return fmt::format("{} ({})", case_name(check.definition), check.variant);
}

std::string outcome(const CheckResult& result) {
  const ExitCode code = exit_code_of(result);
  if (code == ExitCode::problem_found) return "FAILED";
  return code == ExitCode::inconclusive ? "INCONCLUSIVE" : "PASSED";
}

std::string summary_text(const CheckResult& result) {
  const int added = count_of(result, RegressionVerdict::added);
  const int held = static_cast<int>(result.cases.size()) - added;
  const auto failed = std::count_if(result.cases.begin(), result.cases.end(),
                                    [](const CaseCheck& check) { return fails(check.verdict); });
  std::string text = fmt::format("{}: {} of {} {}", outcome(result), failed,
                                 counted(held, "case", "cases"), failed == 1 ? "fails" : "fail");
  if (failed > 0) text += fmt::format(" ({})", fmt::join(counts(result, true), ", "));
  const std::vector<std::string> rest = counts(result, false);
  if (!rest.empty()) text += fmt::format("; {}", fmt::join(rest, ", "));
  if (added > 0) text += fmt::format("; {} not in the baseline", added);
  return text;
}

std::string subject_text(const CheckResult& result) {
  std::vector<std::string> sources;
  for (const BaselineSource& source : result.sources) {
    sources.push_back(
        fmt::format("{} ({})", source.host, counted(source.launches, "launch", "launches")));
  }
  return fmt::format("{} against the baseline of {}: {}", fmt::join(sources, ", "), result.made,
                     describe(result.key));
}

}  // namespace linkgain

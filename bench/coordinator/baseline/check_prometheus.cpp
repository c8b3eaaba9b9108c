#include "linkgain/baseline/check_prometheus.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

/// A gauge with its help, and its value for a case where it has one.
struct CaseMetric {
  const char* name;
  const char* help;
  std::function<std::optional<double>(const CaseCheck&)> value;
};

std::string head(const std::string& name, const std::string& help) {
  return fmt::format("# HELP {} {}\n# TYPE {} gauge\n", name, help, name);
}

std::optional<double> seconds(const std::optional<Seconds>& time) {
  return time ? std::optional<double>(time->value) : std::nullopt;
}

std::optional<double> share(const std::optional<double>& log) {
  return log ? std::optional<double>(std::expm1(*log)) : std::nullopt;
}

const std::vector<CaseMetric>& case_metrics() {
  static const std::vector<CaseMetric> metrics{
      {"linkgain_check_case_failed", "1 where the case fails.",
       [](const CaseCheck& c) { return fails(c.verdict) ? 1.0 : 0.0; }},
      {"linkgain_check_case_inconclusive", "1 where more launches are needed to tell.",
       [](const CaseCheck& c) { return c.verdict == RegressionVerdict::inconclusive ? 1.0 : 0.0; }},
      {"linkgain_check_case_time_seconds", "Time per operation, geometric mean of launch medians.",
       [](const CaseCheck& c) { return seconds(c.time); }},
      {"linkgain_check_case_baseline_seconds", "The same in the baseline.",
       [](const CaseCheck& c) { return seconds(c.reference); }},
      {"linkgain_check_case_shift_ratio",
       "Change of the time over the baseline's, 0.05 is 5 % slower.",
       [](const CaseCheck& c) { return share(c.shift); }},
      {"linkgain_check_case_shift_low_ratio", "Lower end of the 95 % interval of the change.",
       [](const CaseCheck& c) { return share(c.low); }},
      {"linkgain_check_case_shift_high_ratio", "Upper end of the 95 % interval of the change.",
       [](const CaseCheck& c) { return share(c.high); }},
  };
  return metrics;
}

/// The series of one metric, all together as the format wants it; nothing where none has a value.
std::string series_of(const CaseMetric& metric, const CheckResult& result) {
  std::string series;
  for (const CaseCheck& check : result.cases) {
    if (check.verdict == RegressionVerdict::added) continue;
    const std::optional<double> value = metric.value(check);
    if (!value) continue;
    series += fmt::format("{}{{case=\"{}\",variant=\"{}\"}} {:.6g}\n", metric.name,
                          prometheus_escaped(case_name(check.definition)),
                          prometheus_escaped(check.variant), *value);
  }
  return series.empty() ? series : head(metric.name, metric.help) + series;
}

}  // namespace

std::string check_prometheus(const CheckResult& result) {
  std::string text = head("linkgain_check_exit_status", "0 passed, 1 failed, 7 inconclusive.");
  text += fmt::format("linkgain_check_exit_status {}\n", static_cast<int>(exit_code_of(result)));
  text += head("linkgain_check_cases", "Cases and variants by verdict.");
  for (const RegressionVerdict verdict : kRegressionVerdicts) {
    text += fmt::format("linkgain_check_cases{{verdict=\"{}\"}} {}\n", name_of(verdict),
                        count_of(result, verdict));
  }
  for (const CaseMetric& metric : case_metrics()) text += series_of(metric, result);
  return text;
}

}  // namespace linkgain

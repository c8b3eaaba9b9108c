#include "linkgain/formats/diagnosis_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "linkgain/tables/junit.hpp"
#include "linkgain/tables/prometheus.hpp"

namespace linkgain {
namespace {

/// What other programs make of a verdict.
struct Outcome {
  CheckVerdict verdict;
  JunitOutcome junit;
  std::optional<double> severity;
};
constexpr std::array kOutcomes{
    Outcome{CheckVerdict::ok, JunitOutcome::passed, 0.0},
    Outcome{CheckVerdict::warning, JunitOutcome::passed, 1.0},
    Outcome{CheckVerdict::problem, JunitOutcome::failed, 2.0},
    Outcome{CheckVerdict::not_checkable, JunitOutcome::skipped, std::nullopt}};

const Outcome& outcome_of(CheckVerdict verdict) {
  return *std::ranges::find(kOutcomes, verdict, &Outcome::verdict);
}

std::ptrdiff_t count_of(const Diagnosis& diagnosis, CheckVerdict verdict) {
  return std::ranges::count(diagnosis.findings, verdict, &Finding::verdict);
}

/// Counts them; absent where nobody looked for the driver.
std::optional<double> gpus_that_respond(const Diagnosis& diagnosis) {
  const std::vector<Finding>& findings = diagnosis.findings;
  if (std::ranges::find(findings, "gpu-driver", &Finding::id) == findings.end()) {
    return std::nullopt;
  }
  return static_cast<double>(std::ranges::count_if(findings, [](const Finding& finding) {
    return finding.id == "gpu-responds" && finding.verdict == CheckVerdict::ok;
  }));
}

/// Says "problem: NV4, reads refused; why: ...; do: ..."
std::string sentence(const Finding& finding) {
  std::string text = fmt::format("{}: {}", name_of(finding.verdict), finding.value.text());
  if (!finding.why.empty()) text += "; why: " + finding.why;
  if (!finding.advice.empty()) text += "; do: " + finding.advice;
  return text;
}

/// Gives each series once: a check may find several things of one subject, as Xid errors, of which
/// the worst counts.
class Series {
 public:
  void add(std::optional<double> value, const Finding& finding, std::string_view what = {}) {
    if (!value) return;
    const Key key{finding.id, name_of(finding.group), finding.subject, what};
    const auto known = std::ranges::find(values_, key, &std::pair<Key, double>::first);
    if (known == values_.end()) {
      values_.emplace_back(key, *value);
    } else {
      known->second = std::max(known->second, *value);
    }
  }

  void write(PrometheusText& text) const {
    for (const auto& [key, value] : values_) {
      const auto& [check, group, subject, what] = key;
      PrometheusText::Labels labels{{"check", check}, {"group", group}, {"subject", subject}};
      if (!what.empty()) labels.emplace_back("what", what);
      text.value(value, labels);
    }
  }

 private:
  using Key = std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>;
  std::vector<std::pair<Key, double>> values_;
};

}  // namespace

std::string diagnosis_junit(const Diagnosis& diagnosis) {
  std::string summary;
  for (const CheckVerdict verdict : kValues<CheckVerdict>) {
    summary += fmt::format("{}{} {}", summary.empty() ? "" : ", ", count_of(diagnosis, verdict),
                           name_of(verdict));
  }
  JunitSuite suite{
      "linkgain doctor", fmt::format("{}, {}", diagnosis.host, diagnosis.checked), summary, {}};
  for (const Finding& finding : diagnosis.findings) {
    suite.cases.push_back({fmt::format("linkgain.doctor.{}", name_of(finding.group)),
                           fmt::format("{} {}", finding.id, finding.subject),
                           outcome_of(finding.verdict).junit, std::string(name_of(finding.verdict)),
                           sentence(finding)});
  }
  return junit_text(suite);
}

std::string diagnosis_prometheus(const Diagnosis& diagnosis) {
  PrometheusText text;
  text.gauge("linkgain_doctor_exit_status",
             "0 no problem, 1 a problem, 3 nothing could be checked.");
  text.value(static_cast<int>(exit_code_of(diagnosis)));
  text.gauge("linkgain_doctor_checked_timestamp_seconds", "When the machine was checked.");
  text.value(timestamp_of(diagnosis.checked));
  text.gauge("linkgain_doctor_gpus", "GPUs that respond.");
  text.value(gpus_that_respond(diagnosis));
  text.gauge("linkgain_doctor_findings", "Findings by verdict.");
  for (const CheckVerdict verdict : kValues<CheckVerdict>) {
    text.value(static_cast<double>(count_of(diagnosis, verdict)), {{"verdict", name_of(verdict)}});
  }
  text.gauge("linkgain_doctor_check_severity",
             "0 ok, 1 warning, 2 problem; no series where it could not be checked.");
  Series severities;
  for (const Finding& finding : diagnosis.findings) {
    severities.add(outcome_of(finding.verdict).severity, finding);
  }
  severities.write(text);
  for (const UnitEntry& unit : kUnits) {
    text.gauge(fmt::format("linkgain_doctor_{}", unit.name), "Numbers of findings, by name.");
    Series numbers;
    for (const Finding& finding : diagnosis.findings) {
      for (const FindingNumber& quantity : finding.value.numbers()) {
        if (quantity.unit != unit.unit) continue;
        numbers.add(quantity.in_base_unit(), finding, quantity.name);
      }
    }
    numbers.write(text);
  }
  return text.text();
}

}  // namespace linkgain

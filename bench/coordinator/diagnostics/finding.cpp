#include "linkgain/diagnostics/finding.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkgain/base/json.hpp"

namespace linkgain {
namespace {

json::Out write_number(const FindingNumber& quantity) {
  return {
      {"name", quantity.name}, {"unit", quantity.entry().name}, {"value", quantity.in_base_unit()}};
}

json::Out write_finding(const Finding& finding) {
  return {{"group", name_of(finding.group)},
          {"id", finding.id},
          {"subject", finding.subject},
          {"verdict", name_of(finding.verdict)},
          {"value", finding.value.text()},
          {"numbers", json::array_of(finding.value.numbers(), write_number)},
          {"why", finding.why},
          {"advice", finding.advice}};
}

/// Shows bytes to a tenth of the largest unit that fits.
std::string shown_bytes(double amount) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t name = 0;
  for (; amount >= 1024.0 && name + 1 < std::size(kUnits); ++name) amount /= 1024.0;
  return fmt::format("{:.3g} {}", amount, kUnits[name]);
}

}  // namespace

FindingValue& FindingValue::operator+=(const FindingValue& more) {
  text_ += more.text_;
  numbers_.insert(numbers_.end(), more.numbers_.begin(), more.numbers_.end());
  return *this;
}

FindingValue quantity(std::string name, Unit unit, double number, int decimals) {
  const FindingNumber own{std::move(name), unit, number};
  return {own, unit == Unit::bytes ? shown_bytes(number)
                                   : fmt::format("{:.{}f}{}", number, decimals, own.entry().shown)};
}

ExitCode exit_code_of(const Diagnosis& diagnosis) {
  const auto has = [&](CheckVerdict verdict) {
    return std::ranges::find(diagnosis.findings, verdict, &Finding::verdict) !=
           diagnosis.findings.end();
  };
  if (has(CheckVerdict::problem)) return ExitCode::problem_found;
  const bool has_no_gpu = std::ranges::any_of(diagnosis.findings, [](const Finding& finding) {
    return finding.id == "gpu-driver" && finding.verdict == CheckVerdict::not_checkable;
  });
  if (has_no_gpu) return ExitCode::machine_cannot;
  if (has(CheckVerdict::ok) || has(CheckVerdict::warning)) return ExitCode::success;
  return ExitCode::machine_cannot;
}

std::string to_json(const Diagnosis& diagnosis) {
  json::Out counts = json::Out::object();
  for (const CheckVerdict verdict : kValues<CheckVerdict>) {
    counts[std::string(name_of(verdict))] =
        std::ranges::count(diagnosis.findings, verdict, &Finding::verdict);
  }
  json::Out document{{"schema", "linkgain.diagnosis/1"},
                     {"host", diagnosis.host},
                     {"checked", diagnosis.checked},
                     {"exit_code", static_cast<int>(exit_code_of(diagnosis))},
                     {"counts", counts},
                     {"findings", json::array_of(diagnosis.findings, write_finding)}};
  if (diagnosis.delivery) document["delivery"] = write_delivery(*diagnosis.delivery);
  return json::dump(document, 2) + "\n";
}

}  // namespace linkgain

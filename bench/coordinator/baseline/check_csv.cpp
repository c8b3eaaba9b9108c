#include "linkgain/baseline/check_csv.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

constexpr const char* kHeader =
    "case,variant,verdict,fails,headline,reference_s,time_s,reference_launches,launches,shift,"
    "shift_low,shift_high,lower,upper,launches_to_settle,baseline_too,reason\n";

std::string share(const std::optional<double>& log) {
  return log ? fmt::format("{:.6g}", std::expm1(*log)) : std::string();
}

std::string seconds(const std::optional<Seconds>& time) {
  return time ? fmt::format("{}", time->value) : std::string();
}

std::string row(const CaseCheck& check) {
  const std::optional<Settling>& settling = check.settling;
  const std::vector<std::string> fields{
      csv_field(std::string_view(case_name(check.definition))),
      csv_field(std::string_view(check.variant)),
      std::string(name_of(check.verdict)),
      fails(check.verdict) ? "true" : "false",
      check.headline ? "true" : "false",
      seconds(check.reference),
      seconds(check.time),
      fmt::format("{}", check.reference_launches),
      fmt::format("{}", check.launches),
      share(check.shift),
      share(check.low),
      share(check.high),
      csv_field(check.tolerance.lower),
      csv_field(check.tolerance.upper),
      settling ? fmt::format("{}", settling->launches) : std::string(),
      settling ? std::string(settling->baseline_too ? "true" : "false") : std::string(),
      csv_field(std::string_view(check.reason))};
  return fmt::format("{}\n", fmt::join(fields, ","));
}

}  // namespace

std::string check_csv(const CheckResult& result) {
  std::string text = kHeader;
  for (const CaseCheck& check : result.cases) text += row(check);
  return text;
}

}  // namespace linkgain

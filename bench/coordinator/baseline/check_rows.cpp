#include "check_rows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "check_wording.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/tables/table.hpp"

namespace linkgain {
namespace {

using Checks = std::vector<const CaseCheck*>;

std::string readable(const std::optional<Seconds>& time) {
  return time ? readable_time(*time) : std::string("–");
}

std::string verdict_cell(const CaseCheck& check, bool headline, TableStyle style) {
  const std::string name(name_of(check.verdict));
  if (style == TableStyle::text) return headline ? name + " *" : name;
  return fails(check.verdict) ? fmt::format("**{}**", name) : name;
}

/// A terminal has no room for what all cases have in common.
std::string case_cell(const CaseCheck& check, TableStyle style) {
  return style == TableStyle::text ? case_label(check.definition)
                                   : fmt::format("`{}`", case_name(check.definition));
}

std::string alike_key(const CaseCheck& check) {
  return check.verdict == RegressionVerdict::missing ? check.variant + "\n" + check.reason
                                                     : std::string();
}

std::vector<std::string> row_of(const CaseCheck& check, TableStyle style) {
  return {verdict_cell(check, check.headline, style),
          case_cell(check, style),
          check.variant,
          readable(check.reference),
          readable(check.time),
          shift_text(check.shift),
          interval_text(check),
          readable_tolerance(check.tolerance),
          note_text(check)};
}

std::vector<std::string> row_of_several(const Checks& checks, TableStyle style) {
  const CaseCheck& first = *checks.front();
  std::vector<std::string> labels;
  for (const CaseCheck* check : checks) labels.push_back(case_label(check->definition));
  const bool headline = std::any_of(checks.begin(), checks.end(),
                                    [](const CaseCheck* check) { return check->headline; });
  return {verdict_cell(first, headline, style),
          fmt::format("{} cases", checks.size()),
          first.variant,
          "",
          "–",
          "",
          "",
          "",
          fmt::format("{}: {}", note_text(first), first_few(labels))};
}

bool has_one_tolerance(const Checks& checks) {
  return std::all_of(checks.begin(), checks.end(), [&](const CaseCheck* check) {
    return check->tolerance == checks.front()->tolerance;
  });
}

}  // namespace

void add_check_rows(StyledText& text, const CheckResult& result, TableStyle style) {
  Checks shown = worst_first(result);
  std::erase_if(shown, [](const CaseCheck* check) { return !worth_a_line(*check); });
  if (shown.empty()) return;
  std::vector<StyledText::Column> columns{{"Verdict"},        {"Case"},      {"Variant"},
                                          {"Baseline", true}, {"Now", true}, {"Shift", true},
                                          {"95 % CI", true},  {"Tolerance"}, {"Why"}};
  std::vector<std::vector<std::string>> rows;
  for (const Checks& checks : grouped(shown, alike_key)) {
    rows.push_back(checks.size() > 1 ? row_of_several(checks, style)
                                     : row_of(*checks.front(), style));
  }
  const bool one_tolerance = has_one_tolerance(shown);
  constexpr std::ptrdiff_t kToleranceColumn = 7;
  if (one_tolerance) {
    columns.erase(columns.begin() + kToleranceColumn);
    for (std::vector<std::string>& row : rows) row.erase(row.begin() + kToleranceColumn);
  }
  text.table_with_reasons(columns, rows);
  if (one_tolerance) {
    text.paragraph("Tolerance: " + readable_tolerance(shown.front()->tolerance));
  }
}

}  // namespace linkgain

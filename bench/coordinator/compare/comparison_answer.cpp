#include "comparison_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "comparison_tables.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/statistics/statistics.hpp"
#include "linkgain/tables/number_format.hpp"

namespace linkgain {
namespace {

bool is_change(const CaseComparison& each) {
  return each.verdict == CaseVerdict::faster || each.verdict == CaseVerdict::slower;
}

/// Absolute, of the log of the time.
double change_in(const CaseComparison& each) {
  return is_change(each) ? std::abs(std::log(each.speed_up->value)) : 0.0;
}

bool is_compared(const CaseComparison& each) { return each.speed_up.has_value(); }

std::string change_text(const CaseComparison& each) {
  const std::vector<std::string> speed_up = speed_up_cells(each);
  const double saved = less_time(each.speed_up->value);
  const std::string variant = each.variant.empty() ? "" : fmt::format(" ({})", each.variant);
  return fmt::format(
      "Largest change: {}{}, {} ({}, 95 % CI {}).", case_label(each.definition), variant,
      each.verdict == CaseVerdict::faster ? readable_percent(saved) + " less time"
                                          : readable_percent(-saved, Whole::no) + " slower",
      speed_up[0], speed_up[1]);
}

}  // namespace

std::string answer_of(const RunComparison& comparison) {
  const std::vector<CaseComparison>& cases = comparison.cases;
  if (cases.empty()) return {};
  std::vector<CaseVerdict> verdicts;
  for (const CaseComparison& each : cases) verdicts.push_back(each.verdict);
  const auto largest = std::ranges::max_element(cases, {}, change_in);
  const auto change = [&]() -> std::string {
    if (is_change(*largest)) return change_text(*largest);
    if (!has_common_case(comparison)) return "The runs have no case in common.";
    if (std::ranges::none_of(cases, is_compared)) return "No case can be compared.";
    const bool decided = std::ranges::none_of(cases, [](const CaseComparison& each) {
      return each.verdict == CaseVerdict::inconclusive;
    });
    return decided ? fmt::format("No case changed by more than {}.",
                                 readable_percent(comparison.threshold))
                   : "No case changed significantly.";
  };
  return fmt::format("{}. {}", counts_of(verdicts), change());
}

}  // namespace linkgain

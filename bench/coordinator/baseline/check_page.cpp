#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/baseline/check_report.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/html/page.hpp"
#include "linkgain/html/row_chart.hpp"
#include "linkgain/summary/judgement_text.hpp"
#include "linkgain/tables/number_format.hpp"

namespace linkgain {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostRows = 24;  ///< so that all stand on the first screen

std::string result_text(const CaseCheck& check, const std::optional<Seconds>& time) {
  return time ? readable_result(check.definition, *time) : std::string();
}

/// Shows what lies furthest from its reference, failing cases first.
RowChart shifts_of(const CheckResult& result) {
  std::vector<const CaseCheck*> shown;
  for (const CaseCheck& check : result.cases) {
    if (check.shift) shown.push_back(&check);
  }
  std::ranges::stable_sort(shown, [](const CaseCheck* a, const CaseCheck* b) {
    const auto key = [](const CaseCheck& check) {
      return std::tuple(!fails(check), !is_change(check.verdict), check.verdict,
                        -std::abs(*check.shift));
    };
    return key(*a) < key(*b);
  });
  const auto all = static_cast<std::int64_t>(shown.size());
  shown.resize(std::min(shown.size(), kMostRows));
  RowChart chart{.title = fmt::format("Time beside the baseline: {} of {}, what fails first",
                                      shown.size(), counted(all, "case", "cases")),
                 .axis = {"times the baseline's time", Quantity::ratio, Spacing::logarithmic},
                 .reference = 1.0};
  for (const CaseCheck* check : shown) {
    RowChart::Row row{
        .label = fmt::format("{}, {}", case_label(check->definition), check->variant),
        .value = std::exp(*check->shift),
        .text = fmt::format("{} {}", axis_text(Quantity::ratio, std::exp(*check->shift)),
                            name_of(check->verdict)),
        .tone = tone_of(check->verdict),
        .band = Interval{1.0 + check->tolerance.lower.value_or(-1.0),
                         1.0 + check->tolerance.upper.value_or(kNoLimit)}};
    if (check->interval) {
      row.interval = Interval{std::exp(check->interval->low), std::exp(check->interval->high)};
    }
    chart.rows.push_back(std::move(row));
  }
  return chart;
}

Table every_case(const CheckResult& result) {
  Table table({{"Case"},
               {"Variant"},
               {"Verdict"},
               {"Baseline", kRight},
               {"Now", kRight},
               {"Shift", kRight},
               {"Why"}});
  for (const CaseCheck& check : result.cases) {
    const std::optional<double> share = share_of(check.shift);
    table.add_row({case_label(check.definition), check.variant,
                   toned(std::string(name_of(check.verdict)), tone_of(check.verdict)),
                   result_text(check, check.reference), result_text(check, check.time),
                   share ? fmt::format("{:+.1f} %", 100.0 * *share) : std::string(),
                   reason_text(check)});
  }
  return table;
}

}  // namespace

std::string check_page(const CheckResult& result) {
  Document document = check_report(result, figures(columns_of(shifts_of(result)), "shifts"));
  document.heading("Every case");
  document.table(every_case(result));
  HtmlPage page = page_of(document);
  HtmlPage::Section& first = page.sections.front();
  page.title = first.name;
  first.id = "result";
  first.name = "Result";
  return html_text(page);
}

}  // namespace linkgain

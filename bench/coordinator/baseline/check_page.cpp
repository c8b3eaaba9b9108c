#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/baseline/check_report.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/html/page.hpp"
#include "linkgain/html/row_chart.hpp"
#include "linkgain/report/judgement_text.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/number_format.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kMostRows = 30;

std::string text_of(const CaseCheck& check, const std::optional<Seconds>& time) {
  return time ? readable_result(check.definition, *time) : std::string();
}

/// What lies furthest from its reference, failing cases first.
RowChart shifts_of(const CheckResult& result) {
  std::vector<const CaseCheck*> shown;
  for (const CaseCheck& check : result.cases) {
    if (check.shift) shown.push_back(&check);
  }
  std::ranges::stable_sort(shown, [](const CaseCheck* a, const CaseCheck* b) {
    if (fails(a->verdict) != fails(b->verdict)) return fails(a->verdict);
    return std::abs(*a->shift) > std::abs(*b->shift);
  });
  const auto all = static_cast<std::int64_t>(shown.size());
  shown.resize(std::min(shown.size(), kMostRows));
  RowChart chart{.title = fmt::format("Time beside the baseline: {} of {}, what fails first",
                                      shown.size(), counted(all, "case", "cases")),
                 .description = "Time now over the baseline's, with 95 % intervals.",
                 .axis = {"times the baseline's time", Quantity::ratio, Spacing::logarithmic},
                 .reference = 1.0};
  for (const CaseCheck* check : shown) {
    RowChart::Row row{
        .label = fmt::format("{}, {}", case_label(check->definition), check->variant),
        .value = std::exp(*check->shift),
        .text = fmt::format("{} {}", axis_text(Quantity::ratio, std::exp(*check->shift)),
                            name_of(check->verdict))};
    if (check->interval) {
      row.interval = Interval{std::exp(check->interval->low), std::exp(check->interval->high)};
    }
    chart.rows.push_back(std::move(row));
  }
  return chart;
}

std::string every_case(const CheckResult& result) {
  HtmlTable table{.caption = "Every case",
                  .columns = {{"Case"},
                              {"Variant"},
                              {"Verdict"},
                              {"Baseline", true},
                              {"Now", true},
                              {"Shift", true},
                              {"Why"}}};
  for (const CaseCheck& check : result.cases) {
    const std::optional<double> share = share_of(check.shift);
    table.rows.push_back({xml_escaped(case_label(check.definition)), xml_escaped(check.variant),
                          std::string(name_of(check.verdict)), text_of(check, check.reference),
                          text_of(check, check.time),
                          share ? fmt::format("{:+.1f} %", 100.0 * *share) : std::string(),
                          xml_escaped(reason_text(check))});
  }
  return html_text(table);
}

}  // namespace

std::string check_page(const CheckResult& result) {
  const HtmlPage report = page_of_markdown(check_markdown(result));
  HtmlPage page;
  for (const HtmlPage::Section& section : report.sections) {
    page.title = section.name;
    page.add("result", "Result", section.body);
  }
  page.add("pictures", "Differences", row_chart_figure(shifts_of(result), "shifts"));
  page.add("cases", "Every case", every_case(result));
  return html_text(page);
}

}  // namespace linkgain

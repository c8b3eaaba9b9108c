#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/compare/comparison_report.hpp"
#include "linkgain/html/page.hpp"
#include "linkgain/html/plot.hpp"
#include "linkgain/html/row_chart.hpp"
#include "linkgain/summary/judgement_text.hpp"

namespace linkgain {
namespace {

constexpr std::size_t kMostRows = 24;  ///< so that all stand on the first screen

std::string label_of(const CaseComparison& each) {
  return each.variant.empty() ? case_label(each.definition)
                              : fmt::format("{}, {}", case_label(each.definition), each.variant);
}

/// Shows what one comparison found, what changed first, then the largest.
RowChart differences_of(const RunComparison& comparison) {
  std::vector<const CaseComparison*> shown;
  for (const CaseComparison& each : comparison.cases) {
    if (each.speed_up) shown.push_back(&each);
  }
  std::ranges::stable_sort(shown, {}, [](const CaseComparison* each) {
    return std::tuple(!is_change(each->verdict), each->verdict,
                      -std::abs(std::log(each->speed_up->value)));
  });
  const std::size_t all = shown.size();
  shown.resize(std::min(all, kMostRows));
  RowChart chart{
      .title = fmt::format("Speed-up after the change: {} of {}, by verdict", shown.size(),
                           counted(static_cast<std::int64_t>(all), "case", "cases")),
      .axis = {"times as fast as before", Quantity::ratio, Spacing::logarithmic},
      .reference = 1.0};
  for (const CaseComparison* each : shown) {
    chart.rows.push_back(
        {.label = label_of(*each),
         .value = each->speed_up->value,
         .interval = each->speed_up->interval,
         .text = fmt::format("{} {}", axis_text(Quantity::ratio, each->speed_up->value),
                             name_of(each->verdict)),
         .tone = tone_of(each->verdict),
         .band = Interval{1.0 / (1.0 + comparison.tolerance), 1.0 + comparison.tolerance}});
  }
  return chart;
}

/// Shows speed-ups over size, a plot for each curve of three sizes or more.
void add_curves(std::vector<Picture>& pictures, const RunComparison& comparison) {
  std::vector<Plot> plots;
  std::map<std::string, std::size_t> places;
  for (const CaseComparison& each : comparison.cases) {
    if (!each.speed_up || is_training(each.definition.operation) ||
        is_program(each.definition.operation)) {
      continue;
    }
    const auto [place, added] = places.try_emplace(curve_name(each.definition), plots.size());
    if (added) {
      plots.push_back({.title = curve_label(each.definition) + ": speed-up after the change",
                       .x = {"message size", Quantity::bytes, Spacing::logarithmic},
                       .y = {"times as fast", Quantity::ratio, Spacing::logarithmic},
                       .reference = 1.0});
    }
    Plot& plot = plots[place->second];
    auto series = std::ranges::find(plot.series, each.variant, &Plot::Series::name);
    if (series == plot.series.end()) series = plot.series.insert(series, {each.variant});
    series->points.push_back({static_cast<double>(each.definition.size.value), each.speed_up->value,
                              each.speed_up->interval});
  }
  constexpr std::size_t kFewestSizes = 3;
  for (Plot& plot : plots) {
    if (plot.series.front().points.size() < kFewestSizes) continue;
    for (Plot::Series& series : plot.series) {
      std::ranges::stable_sort(series.points, {}, &Plot::Point::x);
    }
    pictures.push_back(picture_of(plot));
  }
}

}  // namespace

std::string comparison_page(const RunComparison& comparison, Metric metric) {
  std::vector<Picture> pictures = columns_of(differences_of(comparison));
  add_curves(pictures, comparison);
  Document document;
  document.title(
      fmt::format("linkgain compare: {} and {}", comparison.before->name, comparison.after->name));
  document.heading("Result");
  document.add(comparison_report(comparison, metric, figures(pictures, "changes")));
  return html_text(page_of(document));
}

}  // namespace linkgain

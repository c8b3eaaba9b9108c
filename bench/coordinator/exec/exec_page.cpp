#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/exec/exec_report.hpp"
#include "linkgain/html/machine_picture.hpp"
#include "linkgain/html/page.hpp"
#include "linkgain/html/plot.hpp"
#include "linkgain/html/row_chart.hpp"
#include "linkgain/statistics/distributions.hpp"

namespace linkgain {
namespace {

Quantity quantity_of(const ProgramMetric& metric) {
  return is_timed(metric) ? Quantity::seconds : Quantity::number;
}

/// Each variant's mean over runs, and its 95 % interval.
RowChart values_of(const CaseResult& result, const std::vector<std::optional<LaunchMean>>& means) {
  const ProgramMetric& metric = *result.definition.metric;
  RowChart chart{.title = fmt::format("{}: mean of each variant", metric.name),
                 .description = {},
                 .axis = {metric.name, quantity_of(metric), Spacing::linear}};
  for (std::size_t i = 0; i < result.variants.size(); ++i) {
    const std::optional<LaunchMean>& mean = means[i];
    if (!mean) continue;
    RowChart::Row row{.label = result.variants[i].variant,
                      .value = from_sample(metric, mean->time),
                      .text = readable_result(result.definition, mean->time)};
    if (const std::optional<Interval> interval = mean->interval()) {
      const double one = from_sample(metric, Seconds{interval->low});
      const double other = from_sample(metric, Seconds{interval->high});
      row.interval = Interval{std::min(one, other), std::max(one, other)};
    }
    chart.description += fmt::format("{}{}: {}.", i == 0 ? "" : " ", row.label, row.text);
    chart.rows.push_back(std::move(row));
  }
  return chart;
}

/// What each run gave, in the order of rounds.
Plot runs_of(const CaseResult& result) {
  const ProgramMetric& metric = *result.definition.metric;
  Plot plot{.title = fmt::format("{}: every run", metric.name),
            .description = "Each run's value by its round.",
            .x = {"round", Quantity::number, Spacing::linear},
            .y = {metric.name, quantity_of(metric), Spacing::linear}};
  for (const VariantResult& variant : result.variants) plot.series.push_back({variant.variant});
  for (const Sample& sample : result.samples) {
    plot.series[static_cast<std::size_t>(sample.variant)].points.push_back(
        {static_cast<double>(sample.launch + 1), from_sample(metric, sample.time()), {}});
  }
  std::erase_if(plot.series, [](const Plot::Series& series) { return series.points.empty(); });
  return plot;
}

std::string pictures_of(const Record& record) {
  const LaunchMeans means = launch_means(record);
  std::string html;
  for (std::size_t i = 0; i < record.cases.size(); ++i) {
    const CaseResult& result = record.cases[i];
    if (result.samples.empty()) continue;
    html += row_chart_figure(values_of(result, means[i]), fmt::format("value-{}", i));
    html += plot_figure(runs_of(result), fmt::format("runs-{}", i));
  }
  return html.empty() ? html : fmt::format("<div class=\"figures\">\n{}</div>\n", html);
}

}  // namespace

std::string exec_page(const Record& record) {
  HtmlPage page = page_of(exec_document(record));
  const auto after_metrics = page.sections.begin() + (page.sections.empty() ? 0 : 1);
  HtmlPage pictures;
  pictures.add("pictures", "Pictures", pictures_of(record));
  pictures.add("gpus", "GPUs", machine_figure(record, "gpus-picture"));
  page.sections.insert(after_metrics, pictures.sections.begin(), pictures.sections.end());
  return html_text(page);
}

}  // namespace linkgain

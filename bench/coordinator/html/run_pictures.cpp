#include "run_pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/html/heat_map.hpp"
#include "linkgain/html/page.hpp"
#include "linkgain/html/plot.hpp"
#include "linkgain/html/row_chart.hpp"

namespace linkgain {
namespace {

HeatMap::Cell cell_of(const PairMatrix& matrix, const PairEntry& entry) {
  if (entry.from == entry.to) return {"–"};
  const std::optional<double> value = matrix.value(entry);
  if (!value) return {std::string(why_no_value(entry.state)), {}, entry.label};
  std::string text = matrix.by_bandwidth ? readable_bandwidth(*value) : readable_time({*value});
  if (matrix.by_bandwidth) text = text.substr(0, text.find(' '));
  return {text, *value, entry.label};
}

std::string heat_map_of(const RunSummary& summary, const PairsSummary& pairs,
                        const PairMatrixSummary& each) {
  const PairMatrix& matrix = each.matrix;
  Case definition = pairs.cases.definition();
  definition.pair.reset();
  HeatMap map{
      .caption = fmt::format("{}, each pair{}, with {}: {}. A stronger shade is {}.",
                             case_label(definition), pairs.is_symmetric ? " both ways at once" : "",
                             matrix.variant, matrix.by_bandwidth ? "bus bandwidth in GB/s" : "time",
                             matrix.by_bandwidth ? "faster" : "slower"),
      .corner = "from \\ to"};
  for (int from = 0; from < matrix.ranks; ++from) {
    map.rows.push_back(gpu_label(summary.record.machine, from));
    auto& cells = map.cells.emplace_back();
    for (int to = 0; to < matrix.ranks; ++to) cells.push_back(cell_of(matrix, matrix.at(from, to)));
  }
  map.columns = map.rows;
  // What does not tell pairs apart stays without a shade.
  if (!each.values.empty() && !summary.differ(each.values)) {
    map.none = std::ranges::max(each.values);
  }
  return heat_map_table(map);
}

/// Shows the parts of a step; of a training without communication, and where none is left to be
/// hidden, one.
RowChart::Row training_row(const ShownRun& run, const CaseSummary& each,
                           const VariantSummary& variant) {
  const double step = variant.result->time->value;
  const std::string name = run.name.empty() ? "" : run.name + ": ";
  RowChart::Row row{.label = fmt::format("{}{}, {}", name, case_label(each.definition()),
                                         variant.result->variant)};
  row.text = readable_time(*variant.result->time);
  const std::optional<Estimate>& exposed = variant.exposed;
  const bool is_shown = exposed && (exposed->value > 0.0 || exposed->interval);
  row.parts.push_back({"computing", is_shown ? step - exposed->value : step});
  if (is_shown) row.parts.push_back({"exposed communication", exposed->value, exposed->interval});
  return row;
}

/// One GPU's readings in the order of samples.
struct Reading {
  int sequence = 0;
  Health health;
};

constexpr std::size_t kMostPoints = 150;  ///< of a curve; more are averaged

template <typename Value>
Plot::Series readings_of(const std::vector<Reading>& readings, std::string name, Value value) {
  Plot::Series series{.name = std::move(name)};
  const std::size_t step = divide_up(readings.size(), kMostPoints);
  for (std::size_t begin = 0; begin < readings.size(); begin += step) {
    double sum = 0.0;
    int count = 0;
    for (std::size_t i = begin; i < std::min(readings.size(), begin + step); ++i) {
      const auto reading = value(readings[i].health);
      if (!reading) continue;
      sum += static_cast<double>(*reading);
      ++count;
    }
    if (count > 0) {
      series.points.push_back({static_cast<double>(readings[begin].sequence), sum / count, {}});
    }
  }
  return series;
}

std::vector<std::vector<Reading>> readings_by_rank(const Record& record) {
  std::vector<std::vector<Reading>> readings(record.machine.ranks.size());
  for (const CaseResult& result : record.cases) {
    for (const Sample& sample : result.samples) {
      const std::size_t ranks = std::min(readings.size(), sample.health.size());
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        readings[rank].push_back({sample.sequence, sample.health[rank]});
      }
    }
  }
  for (auto& each : readings) std::ranges::stable_sort(each, {}, &Reading::sequence);
  return readings;
}

template <typename Value>
std::string health_picture(const Record& record, const std::vector<std::vector<Reading>>& readings,
                           const std::string& what, const std::string& unit, const std::string& id,
                           Value value) {
  Plot plot{.title = what + " over the run",
            .description = {},
            .x = {"sample, in the order measured", Quantity::number, Spacing::linear},
            .y = {unit, Quantity::number, Spacing::linear}};
  for (std::size_t rank = 0; rank < readings.size(); ++rank) {
    Plot::Series series = readings_of(
        readings[rank], gpu_label(record.machine, record.machine.ranks[rank].rank), value);
    if (series.points.empty()) continue;
    const auto [least, most] = std::ranges::minmax(series.points, {}, &Plot::Point::y);
    plot.description +=
        fmt::format("{}{}: {:.0f} to {:.0f} {}.", plot.description.empty() ? "" : " ", series.name,
                    least.y, most.y, unit);
    plot.series.push_back(std::move(series));
  }
  return plot.series.empty() ? "" : plot_figure(plot, id);
}

Quantity quantity_of(const ProgramMetric& metric) {
  return is_timed(metric) ? Quantity::seconds : Quantity::number;
}

/// Shows each variant's mean over runs, and its 95 % interval.
RowChart values_of(const CaseSummary& each) {
  const ProgramMetric& metric = *each.definition().metric;
  RowChart chart{.title = fmt::format("{}: mean of each variant", metric.name),
                 .description = {},
                 .axis = {name_with_unit(metric), quantity_of(metric), Spacing::linear}};
  for (const VariantSummary& variant : each.variants) {
    const std::optional<Seconds>& time = variant.result->time;
    if (!time) continue;
    RowChart::Row row{.label = variant.result->variant,
                      .value = from_sample(metric, *time),
                      .text = readable_result(each.definition(), *time)};
    if (const std::optional<Interval>& interval = variant.time_interval) {
      const auto [low, high] = std::minmax({from_sample(metric, Seconds{interval->low}),
                                            from_sample(metric, Seconds{interval->high})});
      row.interval = Interval{low, high};
    }
    chart.description +=
        fmt::format("{}{}: {}.", chart.description.empty() ? "" : " ", row.label, row.text);
    chart.rows.push_back(std::move(row));
  }
  return chart;
}

/// Shows what each run gave, in the order of rounds.
Plot runs_of(const CaseResult& result) {
  const ProgramMetric& metric = *result.definition.metric;
  Plot plot{.title = fmt::format("{}: every run", metric.name),
            .description = "Each run's value by its round.",
            .x = {"round", Quantity::number, Spacing::linear},
            .y = {name_with_unit(metric), quantity_of(metric), Spacing::linear}};
  for (const VariantResult& variant : result.variants) plot.series.push_back({variant.variant});
  for (const Sample& sample : result.samples) {
    plot.series[static_cast<std::size_t>(sample.variant)].points.push_back(
        {static_cast<double>(sample.launch + 1), from_sample(metric, sample.time()), {}});
  }
  std::erase_if(plot.series, [](const Plot::Series& series) { return series.points.empty(); });
  return plot;
}

std::string in_figures(const std::string& figures) {
  return figures.empty() ? "" : fmt::format("<div class=\"figures\">\n{}</div>\n", figures);
}

}  // namespace

std::string metric_pictures(const RunSummary& summary) {
  std::string figures;
  for (std::size_t i = 0; i < summary.cases.size(); ++i) {
    const CaseSummary& each = summary.cases[i];
    if (each.result->samples.empty()) continue;
    figures += row_chart_figure(values_of(each), fmt::format("value-{}", i));
    figures += plot_figure(runs_of(*each.result), fmt::format("runs-{}", i));
  }
  return in_figures(figures);
}

std::string pair_pictures(const RunSummary& summary) {
  std::string text;
  std::set<OperationKind> seen;
  for (const PairsSummary& pairs : summary.pairs) {
    const bool is_first = seen.insert(pairs.cases.definition().operation).second;
    if (summary.is_condensed && !is_first) continue;
    for (const PairMatrixSummary& each : pairs.matrices) text += heat_map_of(summary, pairs, each);
  }
  return in_figures(text);
}

std::string training_picture(std::span<const ShownRun> runs) {
  RowChart chart{.title = "Time of a training step",
                 .description = {},
                 .axis = {"time of a step", Quantity::seconds, Spacing::linear}};
  for (const ShownRun& run : runs) {
    for (const CaseSummary& each : run.summary->cases) {
      if (!is_training(each.definition().operation)) continue;
      for (const VariantSummary& variant : each.variants) {
        if (variant.wrong_data || !variant.result->time) continue;
        chart.rows.push_back(training_row(run, each, variant));
        const RowChart::Row& row = chart.rows.back();
        chart.description +=
            fmt::format("{}{}: {}.", chart.description.empty() ? "" : " ", row.label, row.text);
      }
    }
  }
  return row_chart_figure(chart, "training");
}

std::string health_pictures(const RunSummary& summary) {
  const Record& record = summary.record;
  const auto readings = readings_by_rank(record);
  const std::string figures =
      health_picture(record, readings, "Temperature", "°C", "temperature",
                     [](const Health& health) { return health.temperature_c; }) +
      health_picture(record, readings, "Power", "W", "power",
                     [](const Health& health) { return health.power_w; }) +
      health_picture(record, readings, "SM clock", "MHz", "clock",
                     [](const Health& health) { return health.sm_clock_mhz; });
  return in_figures(figures);
}

}  // namespace linkgain

#include "run_pictures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "linkgain/base/units.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/html/heat_map.hpp"
#include "linkgain/html/plot.hpp"
#include "linkgain/html/row_chart.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/summary/judgement_text.hpp"
#include "linkgain/tables/number_format.hpp"
#include "linkgain/telemetry/program_traffic.hpp"

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

/// Names a training as the answer does, and its variant.
std::string training_row_label(const CaseSummary& each, const VariantSummary& variant) {
  const auto place = static_cast<std::size_t>(variant.result - each.result->variants.data());
  return fmt::format("{}, {}", answer_label(each.definition()), variant_title(each, place));
}

/// Shows the parts of a step; of a training without communication, and where none is left to be
/// hidden, one.
RowChart::Row training_row(const ShownRun& run, const CaseSummary& each,
                           const VariantSummary& variant) {
  const double step = variant.result->time->value;
  const std::string name = run.name.empty() ? "" : run.name + ": ";
  RowChart::Row row{.label = name + training_row_label(each, variant)};
  row.text = readable_time(*variant.result->time);
  const std::optional<Estimate>& exposed = variant.exposed;
  const bool is_shown = exposed && (exposed->value > 0.0 || exposed->interval);
  row.parts.push_back({"computing", is_shown ? step - exposed->value : step});
  if (is_shown) row.parts.push_back({"exposed communication", exposed->value, exposed->interval});
  return row;
}

/// One GPU's readings in the order of samples.
struct Reading {
  double seconds = 0.0;  ///< of measuring, before it
  Health health;
};

constexpr std::size_t kMostPoints = 150;  ///< of a curve; of more each has the worst of some

/// Which value of some is bad for a GPU, so that a mean would hide it.
enum class Worst { highest, lowest };

/// Says how many of so many samples a point of a curve stands for.
std::size_t samples_a_point(std::size_t samples) { return divide_up(samples, kMostPoints); }

template <typename Value>
Plot::Series readings_of(const std::vector<Reading>& readings, std::string name, Worst worst,
                         Value value) {
  Plot::Series series{.name = std::move(name)};
  const std::size_t step = samples_a_point(readings.size());
  for (std::size_t begin = 0; begin < readings.size(); begin += step) {
    std::optional<double> found;
    for (std::size_t i = begin; i < std::min(readings.size(), begin + step); ++i) {
      const auto reading = value(readings[i].health);
      if (!reading) continue;
      const auto own = static_cast<double>(*reading);
      found = worst == Worst::lowest ? std::min(own, found.value_or(own))
                                     : std::max(own, found.value_or(own));
    }
    if (found) series.points.push_back({readings[begin].seconds, *found, {}});
  }
  return series;
}

std::vector<std::vector<Reading>> readings_by_rank(const Record& record) {
  std::vector<const Sample*> samples;
  for (const CaseResult& result : record.cases) {
    for (const Sample& sample : result.samples) samples.push_back(&sample);
  }
  std::ranges::stable_sort(samples, {}, &Sample::sequence);
  std::vector<std::vector<Reading>> readings(record.machine.ranks.size());
  double seconds = 0.0;
  for (const Sample* const sample : samples) {
    const std::size_t ranks = std::min(readings.size(), sample->health.size());
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      readings[rank].push_back({seconds, sample->health[rank]});
    }
    seconds += sample->time().value * static_cast<double>(sample->operations);
  }
  return readings;
}

template <typename Value>
void add_health(std::vector<Picture>& pictures, const Record& record,
                const std::vector<std::vector<Reading>>& readings, const std::string& what,
                const std::string& unit, Worst worst, Value value) {
  const std::size_t samples = readings.empty() ? 0 : samples_a_point(readings.front().size());
  Plot plot{
      .title = what + " over the run" +
               (samples > 1 ? fmt::format(", the {} of each {} samples",
                                          worst == Worst::lowest ? "lowest" : "highest", samples)
                            : ""),
      .x = {"time of measuring", Quantity::seconds, Spacing::linear},
      .y = {unit, Quantity::number, Spacing::linear}};
  for (std::size_t rank = 0; rank < readings.size(); ++rank) {
    Plot::Series series = readings_of(
        readings[rank], gpu_label(record.machine, record.machine.ranks[rank].rank), worst, value);
    if (series.points.empty()) continue;
    plot.series.push_back(std::move(series));
  }
  if (!plot.series.empty()) pictures.push_back(picture_of(plot));
}

/// Says " at LOAD=8" of a case on an axis.
std::string place_in_title(const CaseSummary& each) {
  const std::string& at = each.definition().metric->at;
  return at.empty() ? "" : " at " + at;
}

/// Draws what the links' counters saw of each variant's runs.
std::vector<Picture> traffic_pictures(const CaseSummary& each) {
  RowChart chart{
      .title = "Bytes over NVLink in a run" + place_in_title(each),
      .axis = {"bytes, by the counters of the GPUs' links", Quantity::number, Spacing::linear}};
  for (std::size_t i = 0; i < each.variants.size(); ++i) {
    const std::optional<double>& bytes = each.variants[i].nvlink_bytes;
    if (!bytes) continue;
    chart.rows.push_back({.label = variant_title(each, i),
                          .parts = {{"over NVLink", *bytes}},
                          .text = readable_traffic(*bytes)});
  }
  return columns_of(chart);
}

/// Draws how many times as fast each row is.
std::vector<Picture> speed_up_pictures(const std::vector<AnswerRow>& rows) {
  RowChart chart{.title = "Speed-up of what was measured",
                 .axis = {"times as fast", Quantity::ratio, Spacing::logarithmic},
                 .reference = 1.0};
  for (const AnswerRow& each : rows) {
    const Comparison* const comparison = each.comparison();
    if (comparison == nullptr || !comparison->has_speed_up()) continue;
    const std::string other = each.of->comparisons.size() == 1
                                  ? ""
                                  : fmt::format(", against {}", comparison->other->variant);
    chart.rows.push_back({.label = answer_label(each.of->definition()) + other,
                          .value = comparison->ratio->value,
                          .interval = comparison->ratio->interval,
                          .text = readable_ratio(*comparison->ratio).estimate,
                          .tone = tone_of(comparison->verdict)});
  }
  return columns_of(chart);
}

/// Gives the mean of a metric's number and its interval.
std::pair<double, std::optional<Interval>> mean_of(const ProgramMetric& metric,
                                                   const VariantSummary& variant) {
  const double mean = from_sample(metric, *variant.result->time);
  if (!variant.time_interval) return {mean, std::nullopt};
  const auto [low, high] = std::minmax({from_sample(metric, Seconds{variant.time_interval->low}),
                                        from_sample(metric, Seconds{variant.time_interval->high})});
  return {mean, Interval{low, high}};
}

Quantity quantity_of(const ProgramMetric& metric) {
  return is_timed(metric) ? Quantity::seconds : Quantity::number;
}

/// Draws every run of one case.
std::vector<Picture> runs_pictures(const CaseSummary& each) {
  const ProgramMetric& metric = *each.definition().metric;
  RowChart chart{.title = fmt::format("{}: every run, and the mean", metric_label(metric)),
                 .axis = {name_with_unit(metric), quantity_of(metric), Spacing::linear}};
  for (std::size_t i = 0; i < each.variants.size(); ++i) {
    const VariantSummary& variant = each.variants[i];
    if (!variant.result->time) continue;
    const auto [mean, interval] = mean_of(metric, variant);
    RowChart::Row row{.label = variant_title(each, i),
                      .value = mean,
                      .interval = interval,
                      .text = readable_result(each.definition(), *variant.result->time)};
    for (const Sample& sample : each.result->samples) {
      if (static_cast<std::size_t>(sample.variant) != i) continue;
      row.each.push_back(from_sample(metric, sample.time()));
    }
    chart.rows.push_back(std::move(row));
  }
  return columns_of(chart);
}

/// Makes the axis along which values of a metric stand; it is logarithmic where they lie far apart.
Axis value_axis(const std::vector<const CaseSummary*>& along) {
  constexpr double kFarApart = 8.0;
  const auto number = [](const CaseSummary* each) {
    return *number_on_axis(*each->definition().metric);
  };
  const double least = number(along.front());
  const bool is_wide = least > 0.0 && number(along.back()) >= kFarApart * least;
  return {axis_of(*along.front()->definition().metric), Quantity::number,
          is_wide ? Spacing::logarithmic : Spacing::linear};
}

/// Draws speed-ups and means over values that are numbers, in ascending order.
std::vector<Picture> axis_plots(const std::vector<const CaseSummary*>& along) {
  const CaseSummary& first = *along.front();
  const ProgramMetric& metric = *first.definition().metric;
  Plot speed_up{.title = fmt::format("Speed-up of {} over {}", metric.name, axis_of(metric)),
                .x = value_axis(along),
                .y = {"times as fast", Quantity::ratio, Spacing::logarithmic},
                .reference = 1.0};
  Plot means{.title = fmt::format("{} over {}", metric.name, axis_of(metric)),
             .x = speed_up.x,
             .y = {name_with_unit(metric), quantity_of(metric), Spacing::linear}};
  for (std::size_t i = 0; i < first.variants.size(); ++i) {
    const std::string name = variant_title(first, i);
    Plot::Series own{.name = name};
    Plot::Series against{.name = fmt::format("{} against {}", variant_title(first, 0), name),
                         .style = i};
    for (const CaseSummary* each : along) {
      const double x = *number_on_axis(*each->definition().metric);
      if (each->variants[i].result->time) {
        const auto [mean, interval] = mean_of(metric, each->variants[i]);
        own.points.push_back({x, mean, interval});
      }
      const Comparison* const comparison = AnswerRow{each, i}.comparison();
      if (comparison == nullptr || !comparison->has_speed_up()) continue;
      against.points.push_back({x, comparison->ratio->value, comparison->ratio->interval});
    }
    if (!own.points.empty()) means.series.push_back(std::move(own));
    if (!against.points.empty()) speed_up.series.push_back(std::move(against));
  }
  std::vector<Picture> pictures;
  for (const Plot* each : {&speed_up, &means}) {
    if (!each->series.empty()) pictures.push_back(picture_of(*each));
  }
  return pictures;
}

}  // namespace

std::vector<Picture> metric_pictures(const std::vector<const CaseSummary*>& along) {
  if (along.size() == 1) return runs_pictures(*along.front());
  const auto is_number = [](const CaseSummary* each) {
    return number_on_axis(*each->definition().metric).has_value();
  };
  if (std::ranges::all_of(along, is_number)) return axis_plots(along);
  std::vector<AnswerRow> rows;
  for (const CaseSummary* each : along) {
    for (std::size_t i = 1; i < each->variants.size(); ++i) rows.push_back({each, i});
  }
  return speed_up_pictures(rows);
}

std::string pair_pictures(const RunSummary& summary) {
  std::string text;
  std::set<OperationKind> seen;
  for (const PairsSummary* pairs : summary.pairs()) {
    const bool is_first = seen.insert(pairs->cases.definition().operation).second;
    if (summary.is_condensed && !is_first) continue;
    for (const PairMatrixSummary& each : pairs->matrices)
      text += heat_map_of(summary, *pairs, each);
  }
  return side_by_side(text);
}

std::vector<Picture> training_pictures(std::span<const ShownRun> runs) {
  RowChart chart{.title = "Time of a training step",
                 .axis = {"time of a step", Quantity::seconds, Spacing::linear}};
  std::vector<std::pair<const ShownRun*, const CaseSummary*>> trainings;
  for (const ShownRun& run : runs) {
    for (const CaseSummary& each : run.summary->cases) {
      if (is_training(each.definition().operation)) trainings.emplace_back(&run, &each);
    }
  }
  const auto communicates = [](const auto& each) { return uses_link(each.second->definition()); };
  if (std::ranges::any_of(trainings, communicates)) {
    std::erase_if(trainings, [&](const auto& each) { return !communicates(each); });
  }
  for (const auto& [run, each] : trainings) {
    for (const VariantSummary& variant : each->variants) {
      if (variant.wrong_data || !variant.result->time) continue;
      chart.rows.push_back(training_row(*run, *each, variant));
    }
  }
  return columns_of(chart);
}

std::vector<Picture> answer_pictures(const RunSummary& summary) {
  const Answer answer = answer_of(summary);
  if (answer.main() == nullptr) return {};
  if (summary.is_of_program()) {
    const ProgramMetric& metric = *answer.main()->definition().metric;
    std::vector<Picture> pictures = metric_pictures(summary.along_axis(metric));
    std::ranges::move(traffic_pictures(*answer.main()), std::back_inserter(pictures));
    return pictures;
  }
  const ShownRun run{{}, &summary};
  const bool of_training = is_training(answer.main()->definition().operation);
  std::vector<Picture> pictures = of_training ? training_pictures({&run, 1})
                                              : size_pictures({&run, 1}, answer.pictured()).answer;
  const bool has_room = of_training && pictures.size() == 1;
  if (pictures.empty() || has_room) {
    std::ranges::move(speed_up_pictures(answer.rows), std::back_inserter(pictures));
  }
  return pictures;
}

std::string health_pictures(const RunSummary& summary) {
  const Record& record = summary.record;
  const auto readings = readings_by_rank(record);
  std::vector<Picture> pictures;
  add_health(pictures, record, readings, "Temperature", "°C", Worst::highest,
             [](const Health& health) { return health.temperature_c; });
  add_health(pictures, record, readings, "Power", "W", Worst::highest,
             [](const Health& health) { return health.power_w; });
  add_health(pictures, record, readings, "SM clock", "MHz", Worst::lowest,
             [](const Health& health) { return health.sm_clock_mhz; });
  return figures(pictures, "health");
}

}  // namespace linkgain

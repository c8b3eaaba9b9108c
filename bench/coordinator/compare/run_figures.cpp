#include "linkgain/compare/run_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <stdexcept>

#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

std::string why_no_time(const Case& definition, const VariantResult& result) {
  if (has_wrong_data(result)) return count_of_wrong(definition, *result.verification);
  if (result.skipped) return fmt::format("skipped: {}", why_skipped(result));
  return result.time ? "" : "not measured";
}

/// A launch that was cut short is no replicate.
void add_launches(CaseFigures& figures, const CaseResult& result, std::size_t variant) {
  figures.launches = launch_medians(result, variant);
  std::map<int, std::vector<double>> times;
  for (const Sample& sample : result.samples) {
    if (sample.variant == static_cast<int>(variant)) {
      times[sample.launch].push_back(sample.time().value);
    }
  }
  for (const LaunchMedian& launch : figures.launches) {
    const std::optional<double> error = log_median_error(times[launch.launch]);
    if (error) figures.sample_error = std::max(figures.sample_error.value_or(0.0), *error);
  }
  if (figures.launches.empty() && figures.time) figures.launches.push_back({0, *figures.time});
}

CaseFigures case_figures(const Record& record, const CaseResult& result,
                         const VariantResult& variant) {
  CaseFigures figures;
  figures.name = case_name(result.definition);
  figures.definition = result.definition;
  figures.variant = variant.variant;
  figures.no_time = why_no_time(result.definition, variant);
  figures.time = variant.time;
  figures.algbw = variant.algbw;
  figures.busbw = variant.busbw;
  figures.path = variant.path;
  figures.grouped = variant.execution.form == kGroupedForm;
  figures.health = variant.health;
  figures.disturbance = disturbance_of(record, variant);
  figures.training = variant.training;
  return figures;
}

/// Its digest; of a journal or an older record, which have none, where and when it began and how
/// much was sampled.
std::string identity_of(const Record& record) {
  if (!record.digest.empty()) return record.digest;
  std::size_t samples = 0;
  for (const CaseResult& result : record.cases) samples += result.samples.size();
  return fmt::format("{} {} {}", record.machine.host, record.started, samples);
}

std::vector<double> logs_of(const std::vector<double>& values) {
  std::vector<double> logs;
  for (const double value : values) {
    if (!(value > 0.0)) throw std::invalid_argument("a logarithm needs values above zero");
    logs.push_back(std::log(value));
  }
  return logs;
}

}  // namespace

std::string_view name_of(Metric metric) {
  switch (metric) {
    case Metric::time:
      return "time";
    case Metric::busbw:
      return "busbw";
    case Metric::algbw:
      return "algbw";
  }
  throw std::logic_error("unhandled metric");
}

std::string_view name_of(RunSource source) {
  return source == RunSource::record ? "linkgain" : "nccl-tests";
}

std::optional<double> log_median_error(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  std::vector<double> logs = logs_of(values);
  const double centre = median(logs);
  for (double& log : logs) log = std::abs(log - centre);
  return std::sqrt(std::numbers::pi / 2.0) * 1.4826 * median(logs) /
         std::sqrt(static_cast<double>(logs.size()));
}

namespace {

/// Makes the geometric mean of the launches' medians the time of a case that has both, and takes
/// its bandwidths there: a record's own time is the median over all samples, but the launch is the
/// replicate here.
void set_time_by_launches(CaseFigures& figures) {
  if (!figures.time || figures.launches.empty()) return;
  const Seconds time = geometric_mean(figures.launches);
  const double factor = figures.time->value / time.value;
  if (figures.algbw) *figures.algbw *= factor;
  if (figures.busbw) *figures.busbw *= factor;
  figures.time = time;
}

}  // namespace

RunFigures figures_of(const Record& record, const std::string& name) {
  RunFigures run;
  run.name = name;
  run.identity = identity_of(record);
  run.started = record.started;
  run.status = record.status;
  run.machine = record.machine;
  run.settings = record.settings;
  run.neighbours = record.neighbours;
  for (const CaseResult& result : record.cases) {
    for (std::size_t variant = 0; variant < result.variants.size(); ++variant) {
      CaseFigures figures = case_figures(record, result, result.variants[variant]);
      add_launches(figures, result, variant);
      set_time_by_launches(figures);
      run.cases.push_back(std::move(figures));
    }
  }
  return run;
}

}  // namespace linkgain

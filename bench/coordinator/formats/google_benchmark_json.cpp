#include "linkgain/formats/google_benchmark_json.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "linkgain/base/json.hpp"
#include "linkgain/record/benchmark_context.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

using json::Out;

constexpr double kMicroseconds = 1e6;

/// A launch of a case.
struct Repetition {
  Seconds time;
  std::int64_t operations = 0;  ///< that were timed
};

/// By launch; of a case with too few samples for any launch's median, the one time there is.
std::vector<Repetition> repetitions_of(const CaseResult& result, std::size_t variant) {
  std::map<int, std::int64_t> operations;
  std::int64_t all = 0;
  for (const Sample& sample : result.samples) {
    if (sample.variant != static_cast<int>(variant)) continue;
    operations[sample.launch] += sample.operations;
    all += sample.operations;
  }
  std::vector<Repetition> repetitions;
  for (const LaunchMedian& launch : launch_medians(result, variant)) {
    repetitions.push_back({launch.time, operations[launch.launch]});
  }
  if (repetitions.empty()) repetitions.push_back({*result.variants[variant].time, all});
  return repetitions;
}

/// Members that every entry of a case has.
Out entry_of(const std::string& name, std::size_t family, std::size_t repetitions) {
  return {{"name", name},     {"family_index", family},  {"per_family_instance_index", 0},
          {"run_name", name}, {"run_type", "iteration"}, {"repetitions", repetitions},
          {"threads", 1}};
}

void add_times(Out& entry, double time) {
  entry["real_time"] = time;
  entry["cpu_time"] = time;
  entry["time_unit"] = "us";
}

void add_bandwidths(Out& entry, const Case& definition, Seconds time) {
  if (is_training(definition.operation)) return;
  entry["algbw"] = algorithm_bandwidth(definition, time);
  entry["busbw"] = bus_bandwidth(definition, time);
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(const std::vector<double>& values) {
  const double centre = mean(values);
  double sum = 0.0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

void add_aggregates(Out& entries, const Case& definition, const Out& entry,
                    const std::vector<double>& times) {
  const auto add = [&](const char* aggregate, const char* unit, double value, bool is_time) {
    Out own = entry;
    own["name"] = entry.at("run_name").get<std::string>() + "_" + aggregate;
    own["run_type"] = "aggregate";
    own["aggregate_name"] = aggregate;
    own["aggregate_unit"] = unit;
    own["iterations"] = times.size();
    add_times(own, value);
    if (is_time) add_bandwidths(own, definition, Seconds{value / kMicroseconds});
    entries.push_back(std::move(own));
  };
  const double deviation = standard_deviation(times);
  add("mean", "time", mean(times), true);
  add("median", "time", median(times), true);
  add("stddev", "time", deviation, false);
  add("cv", "percentage", deviation / mean(times), false);
}

/// Why there is no time that may be shown; absent where there is one.
std::optional<std::string> failure_of(const CaseResult& result, const VariantResult& variant) {
  if (has_wrong_data(variant)) return describe_wrong(result.definition, *variant.verification);
  if (variant.time) return std::nullopt;
  return variant.skipped ? why_skipped(variant) : "not measured";
}

void add_case(Out& entries, const CaseResult& result, std::size_t variant, std::size_t family) {
  const std::string name = case_name(result.definition);
  const std::optional<std::string> failure = failure_of(result, result.variants[variant]);
  if (failure) {
    Out entry = entry_of(name, family, 1);
    entry["repetition_index"] = 0;
    entry["error_occurred"] = true;
    entry["error_message"] = *failure;
    entry["iterations"] = 0;
    add_times(entry, 0.0);
    entries.push_back(std::move(entry));
    return;
  }
  const std::vector<Repetition> repetitions = repetitions_of(result, variant);
  const Out common = entry_of(name, family, repetitions.size());
  std::vector<double> times;
  for (const Repetition& repetition : repetitions) {
    Out entry = common;
    entry["repetition_index"] = times.size();
    entry["iterations"] = repetition.operations;
    times.push_back(repetition.time.value * kMicroseconds);
    add_times(entry, times.back());
    add_bandwidths(entry, result.definition, repetition.time);
    entries.push_back(std::move(entry));
  }
  if (times.size() > 1) add_aggregates(entries, result.definition, common, times);
}

/// Where the variant stands in this case; absent where it has none of that name.
std::optional<std::size_t> place_in(const CaseResult& result, const std::string& variant) {
  const auto found = std::ranges::find(result.variants, variant, &VariantResult::variant);
  if (found == result.variants.end()) return std::nullopt;
  return static_cast<std::size_t>(found - result.variants.begin());
}

}  // namespace

std::string google_benchmark_json(const Record& record, const RecordSelection& selection) {
  const std::size_t variant = selected_variant(record, selection);
  const std::string& name = record.settings.variants[variant].name;
  Out context{{"date", record.started},
              {"host_name", record.machine.host},
              {"executable", "linkgain"},
              {"num_cpus", record.machine.processors}};
  for (const auto& [key, value] : benchmark_context(record.machine, record.settings.backend,
                                                    environment_of(record, variant))) {
    context[key] = value;
  }
  context["variant"] = name;
  context["cpu_time"] = "not measured: real_time again";
  Out entries = Out::array();
  std::size_t family = 0;
  for (const CaseResult* each : selected_cases(record, selection)) {
    if (const auto place = place_in(*each, name)) add_case(entries, *each, *place, family++);
  }
  return json::text_of({{"context", context}, {"benchmarks", entries}}, 1) + "\n";
}

}  // namespace linkgain

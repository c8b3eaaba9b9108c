#include <fmt/format.h>

#include <map>

#include "foreign_runs.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

using Json = nlohmann::json;

double seconds_per(const std::string& unit) {
  static const std::map<std::string, double> kUnits{
      {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}};
  const auto found = kUnits.find(unit);
  if (found != kUnits.end()) return found->second;
  throw UsageError(fmt::format("unknown time unit '{}'", unit));
}

double time_of(const Json& entry) {
  return entry.at("real_time").get<double>() * seconds_per(entry.value("time_unit", "ns"));
}

std::optional<double> counter(const Json& entry, const char* name) {
  const auto found = entry.find(name);
  if (found == entry.end() || !found->is_number()) return std::nullopt;
  return found->get<double>();
}

/// Entries of one benchmark: its repetitions, or where they were left out its median.
struct Repetitions {
  std::vector<double> times;
  std::optional<double> median;
  std::optional<double> deviation;  ///< standard deviation, of aggregates
  std::string failure;
  const Json* shown = nullptr;  ///< the entry whose counters stand for all
};

/// Rows of a fit over the sizes of a family of benchmarks: they hold no time of any of them.
bool is_complexity(const Json& entry) {
  const std::string aggregate = entry.value("aggregate_name", "");
  return aggregate == "BigO" || aggregate == "RMS";
}

void add_entry(Repetitions& repetitions, const Json& entry) {
  const bool aggregate = entry.value("run_type", "iteration") == "aggregate";
  const bool is_median = aggregate && entry.value("aggregate_name", "") == "median";
  if (!aggregate || (is_median && repetitions.times.empty())) repetitions.shown = &entry;
  if (entry.value("error_occurred", false)) {
    repetitions.failure = entry.value("error_message", "failed");
  } else if (entry.value("skipped", false)) {
    repetitions.failure = entry.value("skip_message", "skipped");
  } else if (!aggregate) {
    repetitions.times.push_back(time_of(entry));
  } else if (is_median) {
    repetitions.median = time_of(entry);
  } else if (entry.value("aggregate_name", "") == "stddev") {
    repetitions.deviation = time_of(entry);
  }
}

/// Absent where the name is no case of linkgain's.
std::optional<Case> definition_of(const std::string& name) {
  try {
    return parse_case_name(name);
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

std::optional<double> relative(const std::optional<double>& deviation, double time) {
  return deviation ? std::optional(*deviation / time) : std::nullopt;
}

void set_times(CaseFigures& figures, const Repetitions& repetitions) {
  const bool measured = !repetitions.times.empty() || repetitions.median.has_value();
  const double time =
      !repetitions.times.empty() ? median(repetitions.times) : repetitions.median.value_or(0.0);
  if (!repetitions.failure.empty() || !measured || !(time > 0.0)) {
    figures.no_time = repetitions.failure.empty() ? "not measured" : repetitions.failure;
    return;
  }
  figures.time = Seconds{time};
  figures.launches = {{0, Seconds{time}}};
  figures.sample_error = log_median_error(repetitions.times);
  figures.sample_deviation = !repetitions.times.empty() ? log_deviation(repetitions.times)
                                                        : relative(repetitions.deviation, time);
}

CaseFigures case_of(const std::string& name, const std::string& variant,
                    const Repetitions& repetitions) {
  CaseFigures figures;
  figures.name = name;
  figures.definition = definition_of(name);
  if (figures.definition) figures.variant = variant;
  set_times(figures, repetitions);
  if (figures.definition && figures.time) {
    figures.algbw = algorithm_bandwidth(*figures.definition, *figures.time);
    figures.busbw = bus_bandwidth(*figures.definition, *figures.time);
  } else if (figures.time) {
    figures.algbw = counter(*repetitions.shown, "algbw");
    figures.busbw = counter(*repetitions.shown, "busbw");
  }
  return figures;
}

/// linkgain-bench's context has the variables as "A=1 B=2".
Environment environment_of(const Json& context) {
  Environment environment;
  for (const std::string& word : split(context.value("environment", ""), ' ')) {
    const std::size_t equals = word.find('=');
    if (equals != std::string::npos) environment[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return environment;
}

std::optional<std::string> text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

/// Contexts of before the backend stood in them have NCCL's version where NCCL was measured.
BackendKind backend_of(const Json& context) {
  if (const auto name = text_at(context, "backend")) return parse_backend(*name);
  return context.contains("nccl") ? BackendKind::nccl : BackendKind::mpi;
}

void read_context(RunFigures& run, const Json& context) {
  run.started = context.value("date", "");
  run.machine.host = context.value("host_name", "");
  run.machine.processors = context.value("num_cpus", 0);
  Software& software = run.machine.software;
  software.driver = text_at(context, "driver");
  software.nccl_library = text_at(context, "nccl");
  software.mpi = text_at(context, "mpi").value_or("");
  const std::string version = text_at(context, "linkgain").value_or("");
  software.linkgain = version.substr(0, version.find(' '));
  if (version.empty()) return;
  run.settings = settings_of(backend_of(context), environment_of(context));
}

}  // namespace

RunFigures read_google_benchmark(const Json& document, const std::string& name) {
  RunFigures run;
  run.name = name;
  run.source = RunSource::google_benchmark;
  read_context(run, document.at("context"));
  std::vector<std::string> order;
  std::map<std::string, Repetitions> benchmarks;
  for (const Json& entry : document.at("benchmarks")) {
    if (is_complexity(entry)) continue;
    const std::string entry_name = entry.at("name");
    const std::string own = entry.value("run_name", entry_name);
    if (!benchmarks.contains(own)) order.push_back(own);
    add_entry(benchmarks[own], entry);
  }
  const std::string variant =
      run.settings.variants.empty() ? "" : run.settings.variants.front().name;
  for (const std::string& each : order)
    run.cases.push_back(case_of(each, variant, benchmarks[each]));
  return run;
}

}  // namespace linkgain

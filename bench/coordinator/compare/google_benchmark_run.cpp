#include <fmt/format.h>

#include <map>

#include "foreign_runs.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/statistics/statistics.hpp"

namespace linkgain {
namespace {

using Json = nlohmann::json;

/// linkgain-bench writes microseconds.
double time_of(const Json& entry) { return entry.at("real_time").get<double>() * 1e-6; }

/// Entries of one case: its repetitions, or where they were left out its median.
struct Repetitions {
  std::vector<double> times;
  std::optional<double> median;
  std::string failure;
};

void add_entry(Repetitions& repetitions, const Json& entry) {
  const bool aggregate = entry.value("run_type", "iteration") == "aggregate";
  if (entry.value("error_occurred", false)) {
    repetitions.failure = entry.value("error_message", "failed");
  } else if (entry.value("skipped", false)) {
    repetitions.failure = entry.value("skip_message", "skipped");
  } else if (!aggregate) {
    repetitions.times.push_back(time_of(entry));
  } else if (entry.value("aggregate_name", "") == "median") {
    repetitions.median = time_of(entry);
  }
}

CaseFigures case_of(const std::string& name, const std::string& variant,
                    const Repetitions& repetitions) {
  CaseFigures figures;
  figures.name = name;
  figures.definition = parse_case_name(name);
  figures.variant = variant;
  const bool measured = !repetitions.times.empty() || repetitions.median.has_value();
  const double time =
      !repetitions.times.empty() ? median(repetitions.times) : repetitions.median.value_or(0.0);
  if (!repetitions.failure.empty() || !measured || !(time > 0.0)) {
    figures.no_time = repetitions.failure.empty() ? "not measured" : repetitions.failure;
    return figures;
  }
  figures.time = Seconds{time};
  figures.launches = {{0, Seconds{time}}};
  figures.sample_error = log_median_error(repetitions.times);
  figures.algbw = algorithm_bandwidth(figures.definition, *figures.time);
  figures.busbw = bus_bandwidth(figures.definition, *figures.time);
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
  const std::string version = context.at("linkgain");
  software.linkgain = version.substr(0, version.find(' '));
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
    const std::string entry_name = entry.at("name");
    const std::string own = entry.value("run_name", entry_name);
    if (!benchmarks.contains(own)) order.push_back(own);
    add_entry(benchmarks[own], entry);
  }
  const std::string& variant = run.settings.variants.front().name;
  for (const std::string& each : order)
    run.cases.push_back(case_of(each, variant, benchmarks[each]));
  return run;
}

}  // namespace linkgain

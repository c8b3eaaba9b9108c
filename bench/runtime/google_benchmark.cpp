#include "linkgain/runtime/google_benchmark.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <regex>

#include "linkgain/core/errors.hpp"

namespace linkgain {
namespace {

/// The value of `--name=value` or the presence of `--name`; found options are taken out.
std::optional<std::string> take_option(std::vector<std::string>& arguments,
                                       const std::string& name) {
  std::optional<std::string> value;
  std::erase_if(arguments, [&](const std::string& argument) {
    if (argument == name) {
      value = "true";
    } else if (argument.starts_with(name + "=")) {
      value = argument.substr(name.size() + 1);
    } else {
      return false;
    }
    return true;
  });
  return value;
}

/// Google Benchmark's rule: an extended regular expression that is searched; a leading '-' negates.
std::function<bool(const std::string&)> name_filter(const std::optional<std::string>& text) {
  if (!text || text->empty() || *text == "all") return [](const std::string&) { return true; };
  const bool negative = text->front() == '-';
  try {
    const std::regex pattern(negative ? text->substr(1) : *text, std::regex::extended);
    return [pattern, negative](const std::string& name) {
      return std::regex_search(name, pattern) != negative;
    };
  } catch (const std::regex_error& error) {
    throw UsageError(fmt::format("--benchmark_filter={}: {}", *text, error.what()),
                     "give an extended regular expression, for example all_reduce/float32/sum/.*");
  }
}

/// Removes the suffix that the library adds for manual time, so that results carry case names.
template <typename Reporter>
class CaseNameReporter : public Reporter {
 public:
  using Reporter::Reporter;
  void ReportRuns(const std::vector<benchmark::BenchmarkReporter::Run>& runs) override {
    std::vector<benchmark::BenchmarkReporter::Run> renamed = runs;
    for (auto& run : renamed) run.run_name.time_type.clear();
    Reporter::ReportRuns(renamed);
  }
};

/// The console table under a head that speaks of the link, not of this machine's caches.
class ConsoleTable : public CaseNameReporter<benchmark::ConsoleReporter> {
 public:
  ConsoleTable(OutputOptions options, const BenchmarkRequest& request)
      : CaseNameReporter(options), request_(request) {}

  bool ReportContext(const Context& context) override {
    name_field_width_ = context.name_field_width;
    prev_counters_.clear();
    printed_header_ = false;
    for (const auto& [key, value] : request_.context) {
      GetErrorStream() << key << ": " << value << "\n";
    }
    return true;
  }

 private:
  const BenchmarkRequest& request_;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
/// In a file nothing stands before the header line.
class CsvTable : public CaseNameReporter<benchmark::CSVReporter> {
 public:
  bool ReportContext(const Context& context) override {
    return &GetErrorStream() == &GetOutputStream() || CSVReporter::ReportContext(context);
  }
};
#pragma GCC diagnostic pop
using JsonDocument = CaseNameReporter<benchmark::JSONReporter>;

std::unique_ptr<benchmark::BenchmarkReporter> make_reporter(const std::string& format,
                                                            const std::string& color,
                                                            const BenchmarkRequest& request) {
  if (format == "json") return std::make_unique<JsonDocument>();
  if (format == "csv") return std::make_unique<CsvTable>();
  if (format != "console") {
    throw UsageError(fmt::format("unknown format '{}'", format), "use console, json or csv");
  }
  const bool colored = color == "true" || color == "yes" || color == "1";
  return std::make_unique<ConsoleTable>(colored ? benchmark::ConsoleReporter::OO_ColorTabular
                                                : benchmark::ConsoleReporter::OO_Tabular,
                                        request);
}

void time_batches(benchmark::State& state, BenchmarkSubject& subject, ExitCode& outcome) {
  const std::int64_t batch = subject.batch();
  double total = 0.0;
  while (state.KeepRunningBatch(batch)) {
    const double time = subject.run_batch().value;
    state.SetIterationTime(time);
    total += time;
  }
  if (const auto problem = subject.verify()) {
    outcome = ExitCode::wrong_data;
    state.SkipWithError(problem->c_str());
    return;
  }
  const Seconds per_operation{total / static_cast<double>(state.iterations())};
  for (const auto& [name, value] : subject.counters(per_operation)) state.counters[name] = value;
}

/// A case that the backend refuses is reported as such and the others go on.
void time_subject(benchmark::State& state, BenchmarkSubject& subject, ExitCode& outcome) {
  try {
    time_batches(state, subject, outcome);
  } catch (const MachineError& error) {
    if (outcome == ExitCode::success) outcome = ExitCode::machine_cannot;
    state.SkipWithError(error.what());
  }
}

/// Whether --benchmark_out names a file; throws UsageError where it cannot be written, for which
/// Google Benchmark would end this rank alone.
bool has_output_file(std::vector<std::string> arguments) {
  const std::optional<std::string> path = take_option(arguments, "--benchmark_out");
  if (path && !std::ofstream(*path, std::ios::app)) {
    throw UsageError(fmt::format("--benchmark_out={}: cannot be written", *path));
  }
  return path.has_value();
}

void initialize_library(std::vector<std::string> arguments) {
  // The library keeps the pointer for its reports.
  static char program[] = "linkgain-bench";
  std::vector<char*> argv{program};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
  if (argc > 1) {
    throw UsageError(
        fmt::format("'{}' is no option of Google Benchmark, or has no value for it", argv[1]),
        "see linkgain-bench --help");
  }
}

}  // namespace

ExitCode run_benchmarks(std::vector<std::unique_ptr<BenchmarkSubject>> subjects,
                        const BenchmarkRequest& request) {
  std::vector<std::string> arguments = request.arguments;
  const auto filter = name_filter(take_option(arguments, "--benchmark_filter"));
  const bool list = take_option(arguments, "--benchmark_list_tests").value_or("false") != "false";
  std::erase_if(subjects, [&](const auto& subject) { return !filter(subject->name()); });
  if (list) {
    for (const auto& subject : subjects) std::cout << subject->name() << "\n";
    return ExitCode::success;
  }
  if (subjects.empty()) throw UsageError("no case matches --benchmark_filter");
  const std::string format = take_option(arguments, "--benchmark_format").value_or("console");
  const std::string color = take_option(arguments, "--benchmark_color").value_or("auto");
  const std::string out_format = take_option(arguments, "--benchmark_out_format").value_or("json");
  const auto display = make_reporter(format, color, request);
  const auto file =
      has_output_file(arguments) ? make_reporter(out_format, "false", request) : nullptr;
  initialize_library(std::move(arguments));
  for (const auto& [key, value] : request.context) benchmark::AddCustomContext(key, value);
  ExitCode outcome = ExitCode::success;
  for (const auto& subject : subjects) {
    BenchmarkSubject* raw = subject.get();
    const auto time = [raw, &outcome](benchmark::State& state) {
      time_subject(state, *raw, outcome);
    };
    benchmark::RegisterBenchmark(raw->name().c_str(), time)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::RunSpecifiedBenchmarks(display.get(), file.get());
  benchmark::ClearRegisteredBenchmarks();
  return outcome;
}

}  // namespace linkgain

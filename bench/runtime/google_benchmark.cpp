#include "linkgain/runtime/google_benchmark.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdio>
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
using CsvTable = CaseNameReporter<benchmark::CSVReporter>;
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

void time_batches(benchmark::State& state, BenchmarkSubject& subject, bool& all_right) {
  const std::int64_t batch = subject.batch();
  double total = 0.0;
  while (state.KeepRunningBatch(batch)) {
    const double time = subject.run_batch().value;
    state.SetIterationTime(time);
    total += time;
  }
  if (const auto problem = subject.verify()) {
    all_right = false;
    state.SkipWithError(problem->c_str());
    return;
  }
  const Seconds per_operation{total / static_cast<double>(state.iterations())};
  for (const auto& [name, value] : subject.counters(per_operation)) state.counters[name] = value;
}

/// A case that the backend refuses is reported as such and the others go on.
void time_subject(benchmark::State& state, BenchmarkSubject& subject, bool& all_right) {
  try {
    time_batches(state, subject, all_right);
  } catch (const MachineError& error) {
    state.SkipWithError(error.what());
  }
}

void initialize_library(std::vector<std::string> arguments) {
  std::string program = "linkgain-bench";
  std::vector<char*> argv{program.data()};
  for (std::string& argument : arguments) argv.push_back(argument.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
  if (argc > 1) {
    throw UsageError(fmt::format("unknown option '{}'", argv[1]), "see linkgain-bench --help");
  }
}

}  // namespace

bool run_benchmarks(std::vector<std::unique_ptr<BenchmarkSubject>> subjects,
                    const BenchmarkRequest& request) {
  std::vector<std::string> arguments = request.arguments;
  const auto filter = name_filter(take_option(arguments, "--benchmark_filter"));
  const bool list = take_option(arguments, "--benchmark_list_tests").value_or("false") != "false";
  std::erase_if(subjects, [&](const auto& subject) { return !filter(subject->name()); });
  if (list) {
    for (const auto& subject : subjects) std::cout << subject->name() << "\n";
    return true;
  }
  if (subjects.empty()) throw UsageError("no case matches --benchmark_filter");
  const std::string format = take_option(arguments, "--benchmark_format").value_or("console");
  const std::string color = take_option(arguments, "--benchmark_color").value_or("auto");
  const std::string out_format = take_option(arguments, "--benchmark_out_format").value_or("json");
  bool writes_file = false;
  for (const std::string& argument : arguments) {
    writes_file = writes_file || argument.starts_with("--benchmark_out=");
  }
  const auto display = make_reporter(format, color, request);
  const auto file = writes_file ? make_reporter(out_format, "false", request) : nullptr;
  initialize_library(std::move(arguments));
  for (const auto& [key, value] : request.context) benchmark::AddCustomContext(key, value);
  bool all_right = true;
  for (const auto& subject : subjects) {
    BenchmarkSubject* raw = subject.get();
    const auto time = [raw, &all_right](benchmark::State& state) {
      time_subject(state, *raw, all_right);
    };
    benchmark::RegisterBenchmark(raw->name().c_str(), time)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::RunSpecifiedBenchmarks(display.get(), file.get());
  return all_right;
}

}  // namespace linkgain

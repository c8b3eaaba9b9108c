#include "linkgain/runtime/google_benchmark.hpp"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>

#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/standard_streams.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/operation.hpp"

namespace linkgain {
namespace {

/// Takes the value of `--name=value` or the presence of `--name`; found options are taken out.
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

/// Returns a filter by Google Benchmark's rule: an extended regular expression that is searched; a
/// leading '-' negates.
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

/// Marks a run as failed, in the terms of the library's version: until 1.7 a flag, since then an
/// enumeration whose last value means an error.
template <typename Run>
void mark_failed(Run& run, const std::string& message) {
  run.counters.clear();
  if constexpr (requires { run.error_occurred; }) {
    run.error_occurred = true;
    run.error_message = message;
  } else {
    run.skipped = static_cast<decltype(run.skipped)>(2);
    run.skip_message = message;
  }
}

/// Checks each subject's results once, when its timed batches are over and its runs are reported.
class ResultCheck {
 public:
  explicit ResultCheck(const std::vector<std::unique_ptr<BenchmarkSubject>>& subjects)
      : subjects_(subjects) {}

  /// Returns what is wrong with the results of the subject of this name; absent where nothing is.
  const std::optional<std::string>& problem_of(const std::string& name) {
    const auto known = problems_.find(name);
    if (known != problems_.end()) return known->second;
    std::optional<std::string>& problem = problems_[name];
    for (const auto& subject : subjects_) {
      if (subject->name() == name && !refused_.contains(name)) problem = subject->verify();
    }
    if (problem) outcome_ = ExitCode::wrong_data;
    return problem;
  }

  /// Returns the counters of all subjects; they do not depend on the time.
  std::set<std::string> counter_names() const {
    std::set<std::string> names;
    for (const auto& subject : subjects_) {
      for (const auto& [name, value] : subject->counters(Seconds{1.0})) names.insert(name);
    }
    return names;
  }

  /// Marks a subject that the backend refused: it has no results.
  void refuse(const std::string& name) {
    refused_.insert(name);
    if (outcome_ == ExitCode::success) outcome_ = ExitCode::machine_cannot;
  }

  /// Notes that the file asked for lacks something.
  void lose_file() {
    has_lost_file_ = true;
    if (outcome_ == ExitCode::success) outcome_ = ExitCode::machine_cannot;
  }

  bool has_lost_file() const { return has_lost_file_; }
  ExitCode outcome() const { return outcome_; }

 private:
  const std::vector<std::unique_ptr<BenchmarkSubject>>& subjects_;
  std::map<std::string, std::optional<std::string>> problems_;
  std::set<std::string> refused_;
  ExitCode outcome_ = ExitCode::success;
  bool has_lost_file_ = false;
};

/// Removes the suffix that the library adds for manual time, so that results carry case names, and
/// reports wrong results as errors. Sees whether all of a file was written, which the library does
/// not: it opens it, and gives a file's reporter the same stream for output and errors.
template <typename Reporter>
class CaseReporter : public Reporter {
 public:
  template <typename... Arguments>
  explicit CaseReporter(ResultCheck& check, Arguments&&... arguments)
      : Reporter(std::forward<Arguments>(arguments)...), check_(check) {}

  void ReportRuns(const std::vector<benchmark::BenchmarkReporter::Run>& runs) override {
    std::vector<benchmark::BenchmarkReporter::Run> reported = runs;
    for (auto& run : reported) {
      run.run_name.time_type.clear();
      if (const auto& problem = check_.problem_of(run.run_name.function_name)) {
        mark_failed(run, *problem);
      }
    }
    Reporter::ReportRuns(reported);
  }

  void Finalize() override {
    Reporter::Finalize();
    std::ostream& out = Reporter::GetOutputStream();
    const bool in_file = &out == &Reporter::GetErrorStream();
    if (in_file && !out.flush()) check_.lose_file();
  }

 private:
  ResultCheck& check_;
};

/// The console table under a head that speaks of the link, not of this machine's caches.
class ConsoleTable : public CaseReporter<benchmark::ConsoleReporter> {
 public:
  ConsoleTable(ResultCheck& check, OutputOptions options, const BenchmarkRequest& request)
      : CaseReporter(check, options), request_(request) {}

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
/// In a file nothing stands before the header line, which names every subject's counters.
class CsvTable : public CaseReporter<benchmark::CSVReporter> {
 public:
  CsvTable(ResultCheck& check, std::set<std::string> counters)
      : CaseReporter(check), counters_(std::move(counters)) {}

  bool ReportContext(const Context& context) override {
    return &GetErrorStream() == &GetOutputStream() || CSVReporter::ReportContext(context);
  }

  void ReportRuns(const std::vector<benchmark::BenchmarkReporter::Run>& runs) override {
    if (!std::exchange(has_header_, true)) print_header();
    CaseReporter::ReportRuns(runs);
  }

 private:
  /// Prints a header with the columns of all counters: the library takes them from the first runs
  /// and ends the process if later ones have more. So it is shown one that has all of them, of
  /// which the header alone is kept.
  void print_header() {
    benchmark::BenchmarkReporter::Run all;
    for (const std::string& name : counters_) all.counters[name] = 0.0;
    std::ostream& out = GetOutputStream();
    std::ostringstream text;
    SetOutputStream(&text);
    CSVReporter::ReportRuns({all});
    SetOutputStream(&out);
    const std::string lines = text.str();
    out << lines.substr(0, lines.find('\n') + 1);
  }

  std::set<std::string> counters_;
  bool has_header_ = false;
};
#pragma GCC diagnostic pop
using JsonDocument = CaseReporter<benchmark::JSONReporter>;

std::unique_ptr<benchmark::BenchmarkReporter> make_reporter(const std::string& format,
                                                            const std::string& color,
                                                            const BenchmarkRequest& request,
                                                            ResultCheck& check) {
  if (format == "json") return std::make_unique<JsonDocument>(check);
  if (format == "csv") return std::make_unique<CsvTable>(check, check.counter_names());
  if (format != "console") {
    throw UsageError(fmt::format("unknown format '{}'", format), "use console, json or csv");
  }
  const bool colored = color == "true" || color == "yes" || color == "1";
  return std::make_unique<ConsoleTable>(check,
                                        colored ? benchmark::ConsoleReporter::OO_ColorTabular
                                                : benchmark::ConsoleReporter::OO_Tabular,
                                        request);
}

void time_batches(benchmark::State& state, BenchmarkSubject& subject) {
  const std::int64_t batch = subject.batch();
  double total = 0.0;
  while (state.KeepRunningBatch(batch)) {
    const double time = subject.run_batch().value;
    state.SetIterationTime(time);
    total += time;
  }
  const Seconds per_operation{total / static_cast<double>(state.iterations())};
  for (const auto& [name, value] : subject.counters(per_operation)) state.counters[name] = value;
}

/// Times a subject; a case that the backend refuses is reported as such and the others go on.
void time_subject(benchmark::State& state, BenchmarkSubject& subject, ResultCheck& check) {
  try {
    time_batches(state, subject);
  } catch (const MachineError& error) {
    check.refuse(subject.name());
    state.SkipWithError(error.what());
  }
}

/// Returns what Google Benchmark writes for this program, as JSON or CSV.
bool is_benchmark_file(std::string_view text) {
  if (text.empty()) return true;  // of a program that ended before its first case
  if (text.starts_with('{')) {
    return text.starts_with("{\n  \"context\": {\n") &&
           text.find("\n    \"executable\": \"linkgain-bench\",\n") != std::string_view::npos;
  }
  const std::vector<std::string> lines = split(std::string(text), '\n');
  const auto fields = std::ranges::count(lines.front(), ',');
  return lines.front().starts_with("name,iterations,") &&
         std::all_of(lines.begin() + 1, lines.end(), [&](const std::string& line) {
           if (!line.empty() && std::ranges::count(line, ',') < fields) return false;
           return line.empty() || std::ranges::any_of(kOperations, [&](const auto& each) {
                    return line.starts_with(fmt::format("\"{}/", name_of(each)));
                  });
         });
}

/// Returns the file that --benchmark_out names; throws UsageError where it is not to be replaced,
/// or cannot be written, for which Google Benchmark would end this rank alone.
std::optional<std::string> output_file(std::vector<std::string> arguments) {
  std::optional<std::string> path = take_option(arguments, "--benchmark_out");
  if (path) {
    require_own_file(*path, {"a file", is_benchmark_file});
    std::error_code none;
    std::filesystem::remove(*path, none);  // another name of it keeps what it holds
  }
  if (path && !std::ofstream(*path, std::ios::app)) {
    throw UsageError(fmt::format("--benchmark_out={}: cannot be written", *path));
  }
  return path;
}

/// Warns of a lost file, as of that of -J; the results stand on standard output, so that the job
/// ends in order.
void tell_of_lost_file(const std::string& path) {
  print_message(stderr, fmt::format("linkgain-bench: {} could not be written in full\n"
                                    "                look for a full disk\n",
                                    visible(path)));
}

int require_repetitions(std::vector<std::string> arguments) {
  const std::optional<std::string> text = take_option(arguments, "--benchmark_repetitions");
  const int repetitions = text ? whole_number<int>(*text).value_or(0) : 1;
  if (repetitions > 0 && repetitions <= 999999) return repetitions;
  throw UsageError(fmt::format("--benchmark_repetitions={} is outside 1 to 999999", *text));
}

/// Keeps a time that is not finite from the library, which never sees its end.
void require_time(std::vector<std::string> arguments, const std::string& option) {
  constexpr double kMost = 86400.0;
  const std::optional<std::string> text = take_option(arguments, option);
  if (!text || text->ends_with('x')) return;  // a number of iterations, as of 1.8
  const std::string_view digits(text->data(), text->size() - (text->ends_with('s') ? 1 : 0));
  const double seconds = whole_number<double>(digits).value_or(-1.0);
  if (seconds >= 0.0 && seconds <= kMost) return;
  throw UsageError(fmt::format("{}={} is no time of 0 to {:g} seconds", option, *text, kMost));
}

void require_time_unit(std::vector<std::string> arguments) {
  static constexpr std::array<std::string_view, 4> kUnits{"ns", "us", "ms", "s"};
  const std::optional<std::string> text = take_option(arguments, "--benchmark_time_unit");
  if (!text || std::ranges::find(kUnits, *text) != kUnits.end()) return;
  throw UsageError("--benchmark_time_unit: " + unknown_name("unit", *text, kUnits));
}

/// Returns whether the library takes the option for set, by its rule.
bool is_set(std::vector<std::string> arguments, const std::string& option) {
  static constexpr std::array<std::string_view, 6> kFalse{"FALSE", "NO", "OFF", "0", "F", "N"};
  const std::optional<std::string> text = take_option(arguments, option);
  return text && std::ranges::find(kFalse, upper(*text)) == kFalse.end();
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

void require_benchmark_arguments(const std::vector<std::string>& arguments) {
  const int repetitions = require_repetitions(arguments);
  require_time(arguments, "--benchmark_min_time");
  require_time(arguments, "--benchmark_min_warmup_time");
  require_time_unit(arguments);
  constexpr const char* kInterleaving = "--benchmark_enable_random_interleaving";
  if (repetitions == 1 || !is_set(arguments, kInterleaving)) return;
  throw UsageError(
      fmt::format("{} does not go with repetitions: a case that comes again is set up anew, with "
                  "other batches",
                  kInterleaving),
      "leave it out; linkgain run measures in random order, with new launches");
}

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
  ResultCheck check(subjects);
  const auto display = make_reporter(format, color, request, check);
  const std::optional<std::string> path = output_file(arguments);
  const auto file = path ? make_reporter(out_format, "false", request, check) : nullptr;
  initialize_library(std::move(arguments));
  for (const auto& [key, value] : request.context) benchmark::AddCustomContext(key, value);
  for (const auto& subject : subjects) {
    BenchmarkSubject* raw = subject.get();
    const auto time = [raw, &check](benchmark::State& state) { time_subject(state, *raw, check); };
    benchmark::RegisterBenchmark(raw->name().c_str(), time)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
  benchmark::RunSpecifiedBenchmarks(display.get(), file.get());
  benchmark::ClearRegisteredBenchmarks();
  if (check.has_lost_file()) tell_of_lost_file(*path);
  return check.outcome();
}

}  // namespace linkgain

#include "bench_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "linkgain/base/build_info.hpp"
#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/completion.hpp"
#include "linkgain/cases/help_text.hpp"
#include "linkgain/cases/option_parsers.hpp"
#include "linkgain/gpt2/token_file.hpp"
#include "linkgain/protocol/protocol.hpp"
#include "linkgain/runtime/google_benchmark.hpp"

namespace linkgain {
namespace {

constexpr const char* kUsualSizes = "16:1G:x4";
constexpr const char* kUsualSizesOfMpi = "16:64M:x4";

constexpr const char* kDescription =
    "linkgain-bench: the ranks' side of linkgain, and a Google Benchmark program\n"
    "Google Benchmark's options (--benchmark_filter=REGEX, --benchmark_list_tests, "
    "--benchmark_repetitions=N, --benchmark_min_time=SECONDS, --benchmark_out=FILE, "
    "--benchmark_out_format, --benchmark_format=console|json|csv) are taken as well. With any of "
    "nccl-tests' flags it measures as nccl-tests does and prints what it prints (see --format "
    "nccl-tests --help).";

constexpr const char* kExamples =
    "Examples:\n"
    "  linkgain-bench --np 2 --benchmark_filter=all_reduce\n"
    "  mpirun -np 2 linkgain-bench --only send_recv --sizes 8:1G --launch-mode graph\n"
    "  linkgain-bench -b 8 -e 1G -f 2 -g 2";

/// What to do instead of a benchmark.
struct Modes {
  bool serve = false;
  bool describe = false;
  bool version = false;
  std::string ranks;  ///< --np
  std::string format;
};

void add_mode_options(DeferredOptions& deferred, Modes& modes, WorkerOptions& options) {
  CLI::App& app = deferred.app();
  app.add_option("--format", modes.format,
                 "nccl-tests: measure as nccl-tests does and print what it prints");
  app.add_flag("--serve", modes.serve, "Answer linkgain's protocol on standard input and output");
  app.add_flag("--describe", modes.describe, "Print versions and capabilities as JSON");
  deferred
      .add(
          "--load", options.load_time,
          [](const std::string& text) {
            return parse_duration(text, "--load", Seconds{0.1}, Seconds{600.0});
          },
          "Copy between host and every visible GPU for that long, then between GPUs; print what "
          "these copies reach as JSON. With --prove load: how long")
      ->type_name("TIME");
  deferred
      .add("--prove", options.rung, from_name<ProofRung>,
           "Of two ranks: whether what they send each other arrives, as JSON: stores, "
           "copy-engine, loads, flags, kernels, all-reduce, load or control")
      ->type_name("STEP");
  deferred
      .add(
          "--sample", options.sample_target,
          [](const std::string& text) {
            return parse_duration(text, "--sample", Seconds{0.0005}, Seconds{10.0});
          },
          "Length of a timed batch of operations, as 0.005 (seconds) or 5ms",
          fmt::to_string(options.sample_target.value))
      ->type_name("TIME");
  deferred
      .add(
          "--timeout", options.timeout,
          [](const std::string& text) {
            return parse_duration(text, "--timeout", Seconds{0.5}, Seconds{86400.0});
          },
          "How long ranks wait for each other before they say for whom and end, as 90 (seconds) or "
          "5m",
          fmt::to_string(options.timeout.value))
      ->type_name("TIME");
  app.add_option("--np", modes.ranks,
                 "Start that many ranks of itself on this host; auto: one for every GPU "
                 "(mpi backend: 2)")
      ->type_name("N");
  app.add_flag("--version", modes.version, "Version and what was built");
}

RanksToStart parse_ranks(const std::string& text) {
  if (text == "auto") return std::nullopt;
  const auto ranks = whole_number<int>(text);
  if (ranks && *ranks >= 2 && *ranks <= kMostRanks) return ranks;
  throw UsageError(
      fmt::format("--np {} is neither auto nor a number from 2 to {}", text, kMostRanks),
      "a link has two ends: take two ranks or more");
}

/// Returns what -g and -t ask for together: a rank drives one GPU, so that there are as many ranks.
std::optional<RanksToStart> ranks_of(const NcclTestsOptions& options,
                                     std::optional<RanksToStart> named) {
  const std::int64_t ranks = std::int64_t{options.gpus} * options.threads;
  if (ranks == 1) return named;
  if (named && *named) {
    throw UsageError(
        fmt::format("--np {} and -g {} both say how many ranks there are", **named, options.gpus),
        "leave one of them out");
  }
  if (ranks <= kMostRanks) return RanksToStart{static_cast<int>(ranks)};
  throw UsageError(fmt::format("-g {} with -t {} are more than {} ranks", options.gpus,
                               options.threads, kMostRanks));
}

WorkerOptions::Mode mode_of(const Modes& modes, const WorkerOptions& options) {
  if (options.rung) return WorkerOptions::Mode::prove;
  if (options.load_time.value > 0.0) return WorkerOptions::Mode::load;
  if (modes.describe) return WorkerOptions::Mode::describe;
  return modes.serve ? WorkerOptions::Mode::serve : WorkerOptions::Mode::benchmark;
}

WorkerOptions text_request(std::string text) {
  WorkerOptions options;
  options.mode = WorkerOptions::Mode::text;
  options.text = std::move(text);
  return options;
}

Selection choose_selection(const SelectionOptions& options, BackendKind backend) {
  Selection selection;
  selection.operations = {OperationKind::all_reduce, OperationKind::send_recv};
  selection.sizes = parse_sizes(backend == BackendKind::nccl ? kUsualSizes : kUsualSizesOfMpi);
  if (!options.operations.empty()) selection.operations = options.operations;
  return with_options(selection, options);
}

/// Returns whether nccl-tests is meant: by a flag of its own, by --format or by the name of a link.
bool means_nccl_tests(const std::string& format, const std::vector<std::string>& unknown,
                      const char* path) {
  if (!format.empty() && format != "nccl-tests") {
    throw UsageError(fmt::format("unknown format '{}'", format),
                     "nccl-tests is the only one; see --benchmark_format for others");
  }
  return !format.empty() || nccl_tests_program_called(path) || has_nccl_tests_flag(unknown);
}

void require_known(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* known : app.get_options()) {
    for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  for (const std::string& extra : app.remaining()) {
    if (extra.starts_with("--benchmark_")) continue;
    const std::string given = extra.substr(0, extra.find('='));
    const bool is_long = given.starts_with("--");
    throw UsageError(
        fmt::format(
            "unknown option '{}'{}", given,
            is_long ? did_you_mean(given, candidates) : ": nccl-tests has none such, either"),
        is_long
            ? "see linkgain-bench --help"
            : "see linkgain-bench --help, and for nccl-tests' flags --format nccl-tests --help");
  }
}

/// Adds what Google Benchmark reads from variables, too: BENCHMARK_OUT. They are seen to as options
/// are, which count where both are given.
std::vector<std::string> with_variables(const std::vector<std::string>& arguments) {
  static constexpr std::array kOptions{"filter",
                                       "list_tests",
                                       "format",
                                       "color",
                                       "out",
                                       "out_format",
                                       "repetitions",
                                       "min_time",
                                       "min_warmup_time",
                                       "time_unit",
                                       "enable_random_interleaving"};
  const Environment environment = current_environment();
  std::vector<std::string> all;
  for (const std::string name : kOptions) {
    std::string variable = "BENCHMARK_" + name;
    std::ranges::transform(variable, variable.begin(),
                           [](unsigned char c) { return std::toupper(c); });
    const std::string value = value_of(environment, variable);
    if (!value.empty()) all.push_back(fmt::format("--benchmark_{}={}", name, value));
  }
  all.insert(all.end(), arguments.begin(), arguments.end());
  require_benchmark_arguments(all);
  return all;
}

TrainingPlan choose_training(const SelectionOptions& options) {
  TrainingPlan training;
  training.steps = options.steps.value_or(training.steps);
  if (options.tokens) training.tokens = options.tokens->string();
  return training;
}

/// Returns the file that Google Benchmark is to write.
std::optional<std::filesystem::path> benchmark_output(const std::vector<std::string>& arguments) {
  static constexpr std::string_view kName = "--benchmark_out=";
  std::optional<std::filesystem::path> file;
  for (const std::string& argument : arguments) {
    if (argument.starts_with(kName)) file = argument.substr(kName.size());  // the last counts
  }
  return file;
}

/// Checks what the cases cannot say. Serving, the coordinator has seen to it.
void require_training(const WorkerOptions& options) {
  const TrainingPlan& training = options.training;
  if (training.steps < 1 || training.steps > 1'000'000) {
    throw UsageError(fmt::format("--steps {} is outside 1 to 1000000", training.steps));
  }
  if (training.tokens.empty()) return;
  require_own_outputs({{"--tokens", training.tokens}},
                      {{"--benchmark_out", benchmark_output(options.benchmark_arguments)}});
  open_token_file(training.tokens);
}

}  // namespace

WorkerOptions parse_worker_options(int argc, const char* const* argv) {
  CLI::App app{kDescription, "linkgain-bench"};
  using enum ExitCode;
  app.footer(exit_status_text(
                 std::array<ExitStatus, 4>{problem_found, machine_cannot, wrong_data, incomplete}) +
             "\n\n" + kExamples);
  app.set_help_flag("-h,--help", "Show this help");
  app.allow_extras();
  WorkerOptions options;
  SelectionOptions selection;
  DeferredOptions job(app);
  add_job_options(job, selection);
  DeferredOptions cases(app);
  add_selection_options(cases, selection);
  app.get_option("--backend")->default_str("nccl");
  app.get_option("--only")->default_str("all_reduce,send_recv");
  app.get_option("--sizes")->default_str(fmt::format("{}; mpi: {}", kUsualSizes, kUsualSizesOfMpi));
  app.option_defaults()->group("Modes");
  Modes modes;
  DeferredOptions own(app);
  add_mode_options(own, modes, options);
  if (argc > 1 && std::string_view(argv[1]) == kCompletionOption) {
    return text_request(completions(app, {argv + 2, argv + argc}, words_of_declared));
  }
  try {
    app.parse(words_to_parse(argc, argv));
  } catch (const CLI::CallForHelp&) {
    const bool nccl_tests = means_nccl_tests(modes.format, app.remaining(), argv[0]);
    return text_request(nccl_tests ? nccl_tests_help() : help_text(app));
  } catch (const CLI::ParseError& error) {
    throw UsageError(describe_conversion_error(error.what()), "see linkgain-bench --help");
  }
  if (modes.version) {
    return text_request(
        fmt::format("linkgain-bench {}\n{}\n", build_info().version, build_info().text));
  }
  job.read();
  options.backend = selection.backend.value_or(BackendKind::nccl);
  options.gpus = selection.gpus;
  if (!modes.ranks.empty()) options.ranks_to_start = parse_ranks(modes.ranks);
  if (means_nccl_tests(modes.format, app.remaining(), argv[0])) {
    options.mode = WorkerOptions::Mode::nccl_tests;
    options.nccl_tests = parse_nccl_tests_options(argc, argv);
    options.timeout = options.nccl_tests.timeout.value_or(kUsualTimeout);
    options.ranks_to_start = ranks_of(options.nccl_tests, options.ranks_to_start);
    return options;
  }
  own.read();
  options.mode = mode_of(modes, options);
  if (options.mode == WorkerOptions::Mode::serve && app.count("--timeout") == 0) {
    options.timeout = protocol::timeout_of_ranks(protocol::kDefaultTimeout);
  }
  require_known(app);
  options.benchmark_arguments = with_variables(app.remaining());
  options.training = choose_training(selection);
  if (options.mode == WorkerOptions::Mode::benchmark) require_training(options);
  cases.read();
  options.selection = choose_selection(selection, options.backend);
  return options;
}

}  // namespace linkgain

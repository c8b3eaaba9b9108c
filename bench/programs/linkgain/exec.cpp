#include "linkgain/exec/exec.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <memory>
#include <random>
#include <utility>

#include "linkgain/analysis/program_validity.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/standard_streams.hpp"
#include "linkgain/cases/help_text.hpp"
#include "linkgain/exec/exec_settings.hpp"
#include "linkgain/exec/presets.hpp"
#include "linkgain/exec/received_variables.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/plan/same_path.hpp"
#include "linkgain/process/signals.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/run/run_directory.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "linkgain/telemetry/host.hpp"
#include "linkgain/telemetry/topology_reader.hpp"
#include "plan_text.hpp"
#include "progress.hpp"
#include "run_result.hpp"
#include "subcommand.hpp"

namespace linkgain {
namespace {

constexpr const char* kExecDescription =
    "Run a program of yours with and without P2P\n"
    "Runs the command with each variant in random order, six times each (--rounds), and compares "
    "the times or numbers in the output. The command is run as it stands, without a shell: pipes "
    "need -- sh -c '...'. In it, {variant} and {round} stand for what is being run. Its input is "
    "empty.";

constexpr const char* kExecFooter =
    "Examples:\n"
    "  linkgain exec --metric 'train_runtime.*?([0-9.]+)' -- torchrun train.py\n"
    "  linkgain exec --server 'vllm serve M' --ready 'startup complete' -- ./ask.sh";

constexpr int kMostRounds = 1000;

Seconds parse_limit(const std::string& text, const char* option) {
  return parse_duration(text, option, Seconds{0.1}, Seconds{604800.0});
}

CLI::Option* add_each(CLI::App& app, const char* name, std::vector<std::string>& values,
                      const char* help) {
  return app.add_option(name, values, help)->allow_extra_args(false);
}

void declare_arms(CommandLine& line, ExecOptions& options) {
  CLI::App& app = line.app;
  app.option_defaults()->group(option_group::kWhat);
  CLI::Option* const preset =
      app.add_option("--preset", options.preset,
                     "Serve a model by an engine: server, client, metrics and variants, each of "
                     "which other options replace; {preset} in --server or behind -- is its own "
                     "line; vllm MODEL, sglang MODEL or llama.cpp FILE")
          ->expected(1, 2)
          ->type_name("ENGINE MODEL");
  for (const std::string_view engine : preset_names()) line.words[preset].emplace_back(engine);
  add_variants(line, options.variants, "p2p, host, p2p-sys, net, no-p2p", {BackendKind::exec})
      ->allow_extra_args(false)
      ->default_str("p2p and host");
  add_each(app, "--args", options.arguments,
           "Arguments that a variant adds, as NAME:--flag=1; at the command's end, or where {args} "
           "stands in it or in --server")
      ->type_name("TEXT");
  add_each(app, "--gpus-of", options.gpus, "GPUs that a variant sees, as NAME:0,2")
      ->type_name("TEXT");
  app.add_flag("--control", options.control,
               "A further arm, control, that runs as the first variant does: what differs between "
               "these two is chance");
  app.add_option("--axis", options.axis,
                 "Values at which each variant runs, as LOAD=1,8,64: {LOAD} in the command, "
                 "--server, --args, --prepare and --cleanup stands for each")
      ->type_name("NAME=VALUE,...");
}

void declare_what(CommandLine& line, ExecOptions& options) {
  CLI::App& app = line.app;
  add_each(app, "--metric", options.metrics,
           "A number in the output: a regular expression with one group, as key=([0-9.]+), or "
           "NAME=REGEX if literal text stands before the group, as in tokens=tok/s: ([0-9.]+); "
           "repeatable")
      ->type_name("REGEX");
  CLI::Option* const use =
      line.deferred
          .add("--metric-use", options.metric_use, from_name<MetricUse>,
               "Of the numbers in a run: last, median, sum, or all, each a sample", "last")
          ->type_name("USE");
  line.words[use] = {"last", "median", "sum", "all"};
  app.add_option("--skip", options.skip, "First matches of --metric and --step to leave out")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str()
      ->type_name("N");
  app.add_flag(fmt::format("--higher-is-better{{{}}}", kOnlyMetric), options.higher_is_better,
               "The metric, or those named, are rates, as tokens/s and samples/s")
      ->type_name("[=NAME,...]");
  add_each(app, "--unit", options.units,
           "Unit of the numbers, as tok/s, or NAME=tok/s of one of several metrics; repeatable")
      ->type_name("UNIT");
  app.add_option("--step", options.step,
                 "A line for each step: the time from one to the next is measured")
      ->type_name("REGEX");
  app.add_option("--server", options.server,
                 "Started before each run and ended after it; the command is then its client")
      ->type_name("CMD");
  app.add_option("--ready", options.ready, "The line of the server at which the client starts")
      ->type_name("REGEX");
  line.deferred
      .add(
          "--ready-timeout", options.ready_timeout,
          [](const std::string& text) { return parse_limit(text, "--ready-timeout"); },
          "How long the server may take to be ready, as 90 (seconds) or 5m")
      ->default_str(fmt::format("{:g}m", kDefaultReadyTimeout.value / 60.0))
      ->type_name("TIME");
}

void declare_how(CommandLine& line, ExecOptions& options) {
  CLI::App& app = line.app;
  app.option_defaults()->group(option_group::kHow);
  app.add_option("--rounds", options.rounds,
                 "Runs of every variant, all in one random order; up to twice as many where "
                 "--ci-width needs them")
      ->check(CLI::Range(1, kMostRounds))
      ->capture_default_str()
      ->type_name("N");
  app.add_option("--warm-up", options.warm_up, "Runs of every variant before, not counted")
      ->check(CLI::Range(0, kMostRounds))
      ->capture_default_str()
      ->type_name("N");
  add_ci_width(line, options.ci_width)->default_str("2%");
  add_budget(line, options.budget)->default_str("none");
  const auto add_limit = [&](const char* name, std::optional<Seconds>& limit, const char* help) {
    line.deferred
        .add(
            name, limit, [name](const std::string& text) { return parse_limit(text, name); }, help)
        ->default_str("none")
        ->type_name("TIME");
  };
  add_limit("--timeout", options.timeout,
            "How long a run may take before it is ended, as 90 or 5m");
  add_limit("--silence", options.silence,
            "How long a run may be without output before it is ended");
  app.add_option("--prepare", options.prepare, "Shell command before each run, not timed")
      ->type_name("CMD");
  app.add_option("--cleanup", options.cleanup, "Shell command after each run, not timed")
      ->type_name("CMD");
  app.add_option("--seed", options.seed, "Of the order of runs")
      ->default_str("random")
      ->type_name("N");
}

void declare_output(CommandLine& line, ExecOptions& options) {
  CLI::App& app = line.app;
  app.option_defaults()->group(option_group::kOutput);
  app.get_help_ptr()->group(option_group::kOutput);
  add_out(line, options.out);
  add_label(line, options.label);
  app.add_flag("--show-output", options.show_output,
               "Show what the program writes, too; of a single run it is shown anyway");
  app.add_flag("--dry-run", options.dry_run,
               "Print the command line and variables of each run in order, and end");
  add_record_output(line, options.json, options.quiet);
  add_no_color(line, options.color);
}

/// Returns what stands behind the first "--", whatever it looks like.
std::vector<std::string> command_in(const std::vector<std::string>& arguments) {
  const auto mark = std::ranges::find(arguments, "--");
  return mark == arguments.end() ? std::vector<std::string>{}
                                 : std::vector<std::string>(mark + 1, arguments.end());
}

void declare(CommandLine& line, ExecOptions& options) {
  options.argv = line.arguments;
  options.command = command_in(line.arguments);
  const auto command = std::make_shared<std::vector<std::string>>();
  line.app.add_option("command", *command, "The program and its arguments, behind --")
      ->type_name("-- command");
  declare_arms(line, options);
  declare_what(line, options);
  declare_how(line, options);
  declare_output(line, options);
  line.deferred.then([command, &options] {
    if (command->empty() || !options.command.empty()) return;
    throw UsageError(
        fmt::format("'{}' is no option of exec: the command goes behind --", command->front()),
        fmt::format("linkgain exec -- {}",
                    command->size() == 1 ? command->front() : shown_command(*command)));
  });
}

/// Tells a person how far the runs are.
class ExecProgress : public ExecObserver {
 public:
  ExecProgress(const ExecPlan& plan, ProgressStyle style, std::FILE* log)
      : plan_(plan), output_(std::move(style), log) {}

  void note(const std::string& text) override { output_.note(text); }

  void running(const ExecPace& pace, const RunPlace& place) override {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
    output_.doing({pace.step, pace.steps, pace.seconds_left},
                  fmt::format("{} {}", place.warm_up ? "warm-up" : "round", place.round),
                  spoken_arm(plan_, place), elapsed.count());
  }

  void finished(const ExecPace& pace, const RunReport& report) override {
    const std::string place = fmt::format("[{:>3}/{}] {} {}, {}", pace.step, pace.steps,
                                          report.place.warm_up ? "warm-up" : "round",
                                          report.place.round, spoken_arm(plan_, report.place));
    if (!report.failure) {
      const std::string line = fmt::format("{}: {}", place, values_of(report));
      return output_.finished(
          line, output_.style().terminal ? "" : first_columns(line, output_.columns()));
    }
    output_.note(
        fmt::format("{} FAILED: {}; output in {}", place, *report.failure, shown_path(report.log)));
    for (const std::string& each : report.hang) output_.note("  " + each);
    if (report.lines_shown) return;
    constexpr std::size_t kShown = 5;
    const std::vector<std::string>& lines = report.last_lines;
    for (std::size_t i = lines.size() - std::min(kShown, lines.size()); i < lines.size(); ++i) {
      output_.note("  " + lines[i]);
    }
  }

 private:
  std::string values_of(const RunReport& report) const {
    std::string text;
    for (const Case& each : plan_.cases) {
      if (each.metric->at != place_on_axis(plan_, report.place)) continue;
      const auto values = report.values.find(each.metric->name);
      if (values == report.values.end() || values->second.samples.empty()) continue;
      const double sample = to_sample(*each.metric, values->second.samples.back());
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", each.metric->name,
                          readable_value(*each.metric, Seconds{sample}));
    }
    return text;
  }

  const ExecPlan& plan_;
  ProgressOutput output_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Returns the name of the program, the first of these words, as a folder may be called.
std::string folder_name(const std::vector<std::string>& words) {
  std::string name = std::filesystem::path(words.front()).filename().string();
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.') c = '-';
  }
  return "exec-" + name;
}

/// Returns whether something waits in standard input.
bool has_input() {
  struct stat found {};
  if (::fstat(STDIN_FILENO, &found) != 0) return false;
  if (S_ISREG(found.st_mode)) return found.st_size > ::lseek(STDIN_FILENO, 0, SEEK_CUR);
  int bytes = 0;
  const bool is_pipe = S_ISFIFO(found.st_mode) || S_ISSOCK(found.st_mode);
  return is_pipe && ::ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 && bytes > 0;
}

std::vector<Warning> warnings_of_input() {
  if (!has_input()) return {};
  return {warning_of(WarningCode::exec_input,
                     "the command does not get what is in standard input: its own is empty")};
}

/// Warns that NCCL takes P2P between no GPUs with any variant, where one is to turn it off and
/// neither a variable nor the driver, of which others warn, is the reason.
std::optional<Warning> unused_p2p_warning(const ExecPlan& plan, const Record& begun,
                                          const Environment& environment) {
  if (begun.machine.ranks.empty() || refused_p2p_warning(begun)) return std::nullopt;
  const auto is_off = [](const Variant& each) {
    return std::ranges::any_of(each.environment, [](const auto& variable) {
      return forbids_p2p(variable.first, variable.second);
    });
  };
  const auto off = std::ranges::count_if(plan.variants, is_off);
  if (off == 0 || off == std::ssize(plan.variants)) return std::nullopt;
  const SurveySources sources = sources_of_this_process(environment);
  const auto same =
      same_path(plan.variants, nccl_settings_of(plan.variants, sources), survey_topology());
  if (!same || std::ssize(same->variants) < std::ssize(plan.variants)) return std::nullopt;
  return Warning{name_of(WarningCode::same_path),
                 fmt::format("NCCL takes host memory with every variant ({}): what it carries does "
                             "not show what P2P is worth",
                             same->why),
                 same->advice};
}

/// Prints the command lines, and warns of what a run of them would meet.
void show_plan(const ExecOptions& options, const ExecPlan& plan, const Environment& environment) {
  fmt::print("{}", dry_run_text(plan, environment));
  const auto warn = [](const std::string& text, const std::string& advice) {
    print_message(stderr, fmt::format("linkgain: warning: {}\n          {}\n", visible(text),
                                      visible(advice)));
  };
  for (const UsageError& each : missing_programs(plan, environment)) {
    warn(each.what(), each.advice());
  }
  const Record begun = begin_record(options, plan, environment);
  for (const Warning& each : warnings_of(plan, begun)) warn(each.text, each.advice);
  if (const auto unused = unused_p2p_warning(plan, begun, environment)) {
    warn(unused->text, unused->advice);
  }
}

/// Carries out `linkgain exec`: runs the command, prints the table, writes the files. Returns the
/// exit status, which may be that of a signal. Throws what cannot start throws: UsageError and
/// MachineError.
int carry_out(const ExecOptions& given) {
  const ExecOptions options = with_preset(given);
  const Environment environment = current_environment();
  ExecPlan plan = make_exec_plan(options, environment);
  if (!options.seed) plan.seed = std::random_device{}();
  if (options.dry_run) {
    show_plan(options, plan, environment);
    return 0;
  }
  std::optional<RunDirectory> named;
  if (options.out) named.emplace(begin_in(*options.out, RunDirectory::kRuns));
  std::optional<SignalWatch> watch(std::in_place);  // before NVML starts threads
  Record record = begin_record(options, plan, environment);
  record.warnings = warnings_of_test_variables(environment, plan.variants);
  std::ranges::move(warnings_of_input(), std::back_inserter(record.warnings));
  RunDirectory directory =
      named ? std::move(*named)
            : begin_in(new_run_folder(
                           host_name(),
                           folder_name(options.preset.empty() ? plan.command : options.preset)),
                       RunDirectory::kRuns);
  directory.make_logs();
  const LogFile log = open_log(directory);
  JournalWriter journal(directory.journal());
  const bool single = plan.rounds + plan.warm_up == 1 && arm_count(plan) == 1;
  const bool show_output = options.show_output || single;
  const auto start = std::chrono::steady_clock::now();
  int status = 0;
  try {
    ProgressStyle style = progress_style(options.quiet);
    style.terminal = style.terminal && !show_output;
    ExecProgress progress(plan, std::move(style), log.get());
    const RunSurroundings surroundings{
        [&](const std::string& name) { return directory.run_log(name); },
        [&](const std::string& name) { return directory.nccl_logs(name); }, environment,
        show_output};
    if (const auto unused = unused_p2p_warning(plan, record, environment)) {
      progress.note(fmt::format("{}: {}", unused->text, unused->advice));
    }
    ProgramRunner runner(plan, surroundings, *watch);
    if (!record.machine.ranks.empty()) {
      record.neighbours = Neighbours{.idle_windows = 1, .seen = runner.watch_idle()};
    }
    execute(plan, runner, record, journal, progress);
  } catch (const Interrupted& interruption) {
    status = kSignalExitBase + interruption.signal_number();
    print_message(stderr,
                  fmt::format("linkgain: {}; what was measured is kept\n", interruption.what()));
  }
  record.wall_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  conclude(record);
  if (status != 0) record.exit_code = status;
  if (journal.failure()) record.warnings.push_back(*journal.failure());
  return keep_and_print(record, directory, {options.json, options.color}, watch);
}

const Registration kExecRegistration(Subcommand<ExecOptions>{
    "exec",
    kExecDescription,
    {ExitCode::machine_cannot, ExitCode::wrong_path, ExitCode::incomplete},
    kExecFooter,
    {.in_help = 1, .in_list = 1},
    declare,
    carry_out});

}  // namespace
}  // namespace linkgain

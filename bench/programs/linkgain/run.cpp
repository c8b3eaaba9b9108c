#include "linkgain/run/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <any>
#include <array>
#include <cstdio>
#include <iterator>
#include <memory>
#include <random>
#include <utility>

#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/secrets.hpp"
#include "linkgain/base/standard_streams.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/help_text.hpp"
#include "linkgain/cases/profiles.hpp"
#include "linkgain/gpt2/token_file.hpp"
#include "linkgain/jobs/launcher.hpp"
#include "linkgain/plan/option_file.hpp"
#include "linkgain/plan/site.hpp"
#include "linkgain/process/signals.hpp"
#include "linkgain/record/recorded_variables.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/run/resumption.hpp"
#include "linkgain/run/run_directory.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "linkgain/telemetry/host.hpp"
#include "linkgain/telemetry/topology_reader.hpp"
#include "plan_text.hpp"
#include "progress.hpp"
#include "run_result.hpp"
#include "subcommand.hpp"
#include "terminal.hpp"

namespace linkgain {
namespace {

constexpr const char* kRunDescription =
    "Benchmark with and without P2P\n"
    "Measures NCCL, copies between GPUs and GPT-2's training step on every GPU, with each variant "
    "in turn and in random order. Prints the speed-up of the first variant with a 95 % interval. "
    "Needs two GPUs or more and takes about 2 minutes (--profile, --only, --budget). The variant "
    "p2p is NCCL's default. host turns P2P off, so that data go through host memory. p2p-sys "
    "allows P2P across the host bridge, too. net uses the network only. Without two GPUs, "
    "--backend mpi measures MPI in CPU memory.";

constexpr const char* kRunFooter =
    "Examples:\n"
    "  linkgain run                                    P2P on against off\n"
    "  linkgain run --only all_reduce --sizes 8:1G:x2  all powers of two";

std::filesystem::path parse_path(const std::string& name) { return name; }

/// Adds an option whose number may be zero or less, which the plan refuses: such as is not given
/// stays absent.
template <typename Number, typename Value>
CLI::Option* add_number(CLI::App& app, const char* name, Value& value, const char* help) {
  return app.add_option_function<Number>(
      name, [&value](const Number& number) { value = Value(number); }, help);
}

/// Declares the profile, which is read before all others, so that a file's options are there when
/// these are.
void declare_profile(CommandLine& line, RunOptions& options) {
  const auto profile = std::make_shared<std::string>();
  CLI::Option* const option =
      line.app.add_option("--profile", *profile,
                          "quick, default, bridge, inference, full, node, soak, or a file with "
                          "options of run, as ./nightly.toml");
  option->default_str("default")->type_name("NAME");
  line.deferred.then([&app = line.app, &options, profile, option] {
    if (option->count() == 0) return;
    if (!is_option_file(*profile)) {
      options.profile = from_name<Profile>(*profile);
      return;
    }
    options.profile_file = *profile;
    const std::string base =
        read_option_file(app, *options.profile_file, "profile", require_harmless);
    if (!base.empty()) options.profile = from_name<Profile>(base);
  });
}

void declare_what(CommandLine& line, RunOptions& options) {
  CLI::App& app = line.app;
  app.option_defaults()->group(option_group::kWhat);
  declare_profile(line, options);
  add_job_options(line.deferred, options);
  add_selection_options(line.deferred, options);
  app.get_option("--backend")->default_str("nccl");
  for (const char* option : {"--only", "--sizes"}) {
    app.get_option(option)->default_str("the profile's");
  }
  app.option_defaults()->group(option_group::kWhat);
  add_variants(line, options.variants, "p2p, host, p2p-sys, net (mpi: shared-memory, tcp)",
               {BackendKind::nccl, BackendKind::mpi})
      ->default_str("p2p and host; mpi: shared-memory and tcp");
  app.add_flag("--tune", options.tune,
               "Race settings of NCCL (protocol, algorithm, CTAs) in place of variants, and say "
               "which of them is worth setting: all_reduce, 64 KiB to 256 MiB, unless --only and "
               "--sizes say otherwise");
}

void declare_how(CommandLine& line, RunOptions& options) {
  CLI::App& app = line.app;
  app.option_defaults()->group(option_group::kHow);
  add_number<int>(app, "--launches", options.launches, "Independent job launches of every variant")
      ->default_str("6; inference: 4; bridge, full, node: 8; soak: as the budget holds")
      ->type_name("N");
  add_ci_width(line, options.ci_width)->default_str("1% from 16 MiB, 2% from 1 MiB, 5% below");
  add_budget(line, options.budget)->default_str("none; bridge: 50, full: 15m, soak: 1h");
  line.deferred
      .add(
          "--timeout", options.timeout,
          [](const std::string& text) {
            return parse_duration(text, "--timeout", Seconds{1.0}, Seconds{86400.0});
          },
          "How long a job may be silent before it is ended, as 90 (seconds) or 5m",
          fmt::format("{:g}", protocol::kDefaultTimeout.value))
      ->type_name("TIME");
  line.deferred
      .add("--schedule", options.schedule, from_name<Schedule>,
           "paired (variants in turn) or sequential (one after the other)")
      ->default_str("paired, if GPUs and memory allow")
      ->type_name("HOW");
}

void declare_where(CommandLine& line, RunOptions& options) {
  CLI::App& app = line.app;
  app.option_defaults()->group(option_group::kWhere);
  add_number<int>(app, "--np", options.ranks, "Ranks")
      ->default_str("one for each GPU; mpi: 2; several hosts: their slots or tasks")
      ->type_name("N");
  app.add_option(
         "--launcher", options.launcher,
         "What starts the ranks: local (linkgain itself, for the GPUs of this host), mpirun "
         "(this host, or those of --hostfile) or srun (all nodes of the Slurm allocation "
         "around it)")
      ->default_str("local; with --hostfile, several nodes, worker= or --backend mpi: mpirun")
      ->type_name("PROGRAM");
  line.deferred
      .add("--hostfile", options.hostfile, parse_path,
           "Hosts for mpirun, one a line as in: node1 slots=4; --out is then a folder that all "
           "share")
      ->type_name("FILE");
}

void declare_output(CommandLine& line, RunOptions& options) {
  CLI::App& app = line.app;
  app.option_defaults()->group(option_group::kOutput);
  app.get_help_ptr()->group(option_group::kOutput);
  add_out(line, options.out);
  add_label(line, options.label);
  line.deferred
      .add("--resume", options.resume, parse_path,
           "Go on with the unfinished run in this folder, by its options")
      ->type_name("DIR");
  app.add_flag("--require-healthy", options.require_healthy,
               "End with status 8 if heat, power supply or cable throttled a GPU in a sample, or "
               "another process was on a GPU, or a link had errors");
  app.add_flag("--dry-run", options.dry_run,
               "Print cases, variables of each variant, memory and expected time, and end");
  app.add_flag("--list", options.list,
               "Print operations, profiles, variants and other names that options take, and end");
  add_record_output(line, options.json, options.quiet);
  add_no_color(line, options.color);
}

/// Refuses --json with `--dry-run` and `--list`, which print text.
void require_text(const RunOptions& options) {
  if (!options.json || !(options.dry_run || options.list)) return;
  throw UsageError(fmt::format("--json does not go with {}", options.list ? "--list" : "--dry-run"),
                   "leave one of them out");
}

/// Refuses options beside --resume: a run that goes on has its own.
void require_resume_alone(const CLI::App& app) {
  static constexpr std::array<std::string_view, 4> kBeside{"--resume", "--json", "--quiet",
                                                           "--no-color"};
  for (const CLI::Option* const option : app.get_options()) {
    if (option->count() == 0 || std::ranges::find(kBeside, option->get_name()) != kBeside.end()) {
      continue;
    }
    throw UsageError(fmt::format("--resume does not go with {}", option->get_name()),
                     "a run goes on with the options that it began with");
  }
}

void declare(CommandLine& line, RunOptions& options) {
  options.argv = line.arguments;
  declare_what(line, options);
  declare_how(line, options);
  declare_where(line, options);
  declare_output(line, options);
  line.deferred.then([&app = line.app, &options] {
    if (options.resume) require_resume_alone(app);
    require_text(options);
    if (options.tokens) options.token_facts = survey_token_file(*options.tokens);
  });
}

Settings settings_of(const RunOptions& options, const RunPlan& plan) {
  Settings settings;
  settings.argv = without_secrets(options.argv);
  settings.backend = plan.backend;
  settings.profile = plan.profile;
  settings.schedule = plan.schedule;
  for (const Variant& variant : plan.variants) {
    Variant& own = settings.variants.emplace_back(variant);
    own.environment = without_secrets(variant.environment);
  }
  settings.launches = plan.race ? plan.race->launches() : plan.launches;
  settings.race = plan.race;
  settings.precision = plan.ci_width;
  settings.budget = plan.budget;
  settings.sample_target = plan.sample_target;
  settings.training = plan.training;
  settings.label = options.label;
  settings.cases_digest = digest_of_cases(plan);
  settings.require_healthy = options.require_healthy;
  return settings;
}

/// Adds to the plan what this process's variables will change, as the run would say.
void warn_of_own_variables(const RunOptions& options, RunPlan& plan) {
  Record record;
  record.settings = settings_of(options, plan);
  for (const Case& definition : plan.cases) record.cases.emplace_back().definition = definition;
  for (const Variant& variant : record.settings.variants) {
    Environment& in_force = record.settings.environment_in_force.emplace_back(variant.environment);
    for (const auto& [name, value] : without_secrets(current_environment())) {
      if (may_be_recorded(name)) in_force.emplace(name, value);
    }
    for (const std::string& name : variant.unset) in_force.erase(name);
  }
  warn_of_inherited(record);
  std::ranges::move(record.warnings, std::back_inserter(plan.warnings));
}

/// Carries out `--list` and `--dry-run`: starts and writes nothing.
int preview(const RunOptions& options) {
  if (options.list) {
    fmt::print("{}", choices_text());
    return 0;
  }
  require_usable(options);
  std::optional<Hosts> hosts;
  if (options.hostfile) hosts = read_hostfile(*options.hostfile);
  RunPlan plan = preview_plan(options, survey_site(hosts));
  warn_of_own_variables(options, plan);
  if (!is_by_srun(options) && !hosts) {
    const auto sources = sources_of_this_process(current_environment());
    auto notice = same_path_notice(plan, survey_topology(), sources);
    if (notice) plan.warnings.push_back(std::move(*notice));
  }
  fmt::print("{}", plan_text(plan, terminal_columns()));
  return 0;
}

/// What a run begins with.
struct Beginning {
  RunOptions options;
  std::optional<RunDirectory> directory{};  ///< that was named
  Record record{};                          ///< of its earlier part, if there is one
};

/// Returns the options of the run that goes on, as its record has them; what is printed is as
/// `given`.
RunOptions options_of(const Settings& earlier, const RunOptions& given) {
  std::vector<const char*> words;
  for (const std::string& word : earlier.argv) words.push_back(word.c_str());
  const Request request = parse_command_line(static_cast<int>(words.size()), words.data());
  const auto* const own = std::any_cast<RunOptions>(&request.options);
  if (own == nullptr) throw UsageError("its record has no command line of linkgain run");
  RunOptions options = *own;
  options.resume = given.resume;
  options.json = given.json;
  options.quiet = given.quiet;
  options.color = given.color;
  return options;
}

Beginning begin(const RunOptions& given) {
  Beginning beginning{given};
  if (given.resume) {
    if (!std::filesystem::is_directory(*given.resume)) {
      throw UsageError(fmt::format("there is no folder {}", given.resume->string()));
    }
    beginning.directory.emplace(RunDirectory::go_on(*given.resume));
    beginning.record = read_unfinished(*given.resume);
    beginning.options = options_of(beginning.record.settings, given);
    if (beginning.options.tune) {
      throw UsageError("a run with --tune does not go on: its stages depend on each other",
                       "tune anew, without --resume");
    }
  } else if (given.out) {
    beginning.directory.emplace(begin_in(*given.out, RunDirectory::kJobs));
  }
  return beginning;
}

/// Returns whether all of the run's jobs are on this host.
bool stays_here(const RunOptions& options, const Site& site) {
  if (site.hostfile) return false;
  return !is_by_srun(options) || !site.allocation || site.allocation->count == 1;
}

/// Writes what the record of a run that is to be carried out begins with. What there is to warn of
/// goes into the plan: a run that goes on has it in its record once a job is accepted.
void prepare_record(Record& record, const RunOptions& options, const Site& site, RunPlan& plan) {
  const Settings settings = settings_of(options, plan);
  if (options.resume) {
    require_same_settings(record.settings, settings);
    require_same_cases(plan, record);
    if (!record.cases.empty()) prepare_to_go_on(plan, record);
    plan.warnings.push_back(
        {name_of(WarningCode::resumed),
         fmt::format("the run was ended before its time and went on at {}", utc_now(false)),
         {}});
  } else {
    record.started = utc_now(false);
    record.settings = settings;
    if (stays_here(options, site)) record.machine.host = site.host;  // if no job ever says so
  }
  for (Warning& warning : warnings_of_test_variables(current_environment(), plan.variants)) {
    plan.warnings.push_back(std::move(warning));
  }
  if (!record.cases.empty()) return;
  for (const Warning& warning : plan.warnings) add_once(record.warnings, warning);
}

bool has_samples(const Record& record) {
  return std::ranges::any_of(record.cases,
                             [](const CaseResult& each) { return !each.samples.empty(); });
}

/// Measures into the record and its journal. Returns 0, or the exit status of the signal that ended
/// it.
int measure(const RunOptions& options, const RunPlan& plan, const Site& site,
            RunDirectory& directory, const SignalWatch& watch, Record& record) {
  directory.make_logs();
  const LogFile log = open_log(directory);
  JournalWriter journal(directory.journal(), record);
  LaunchedWorld world(options, plan, site, directory, watch);
  int status = 0;
  try {
    Progress progress(progress_style(options.quiet), log.get());
    for (const Warning& warning : record.warnings) progress.note("notice: " + warning.text);
    run(plan, world, record, journal, progress);
  } catch (const Interrupted& interruption) {
    record.status = RunStatus::interrupted;
    status = kSignalExitBase + interruption.signal_number();
    const std::string on =
        options.tune ? ""
                     : ", and goes on by: linkgain run --resume " + shown_path(directory.path());
    print_message(stderr,
                  fmt::format("linkgain: {}; {}{}\n", interruption.what(),
                              has_samples(record) ? "what was measured is kept"
                                                  : "nothing was measured, and no record is made",
                              on));
  }
  return status;
}

/// Carries out `linkgain run`: measures, prints the table, writes the files. Returns the exit
/// status, which may be that of a signal. Throws what a run that cannot start throws: UsageError
/// and MachineError.
int carry_out(const RunOptions& given) {
  if (given.list || given.dry_run) return preview(given);
  if (!given.resume) require_usable(given);
  auto [options, named, record] = begin(given);
  std::optional<Hosts> hosts;
  if (options.hostfile) hosts = read_hostfile(*options.hostfile);
  std::optional<SignalWatch> watch(std::in_place);  // before NVML starts threads
  const Site site = survey_site(hosts);
  RunPlan plan = make_plan(options, site);
  plan.seed = std::random_device{}();
  require_launcher(plan.launcher);
  prepare_record(record, options, site, plan);
  RunDirectory directory =
      named ? std::move(*named) : begin_in(new_run_folder(plan, site), RunDirectory::kJobs);
  const int status = measure(options, plan, site, directory, *watch, record);
  // Its record would in time take the place of one that has results.
  if (status != 0 && !has_samples(record)) return status;
  const bool is_watched = is_terminal(STDERR_FILENO) && ::isatty(STDOUT_FILENO) == 1;
  const std::size_t told = is_watched && !options.quiet ? record.warnings.size() : 0;
  judge(record, options.operations);
  if (status != 0) record.exit_code = status;
  return keep_and_print(record, directory, {options.json, options.color, told}, watch);
}

const Registration kRunRegistration(Subcommand<RunOptions>{
    "run",
    kRunDescription,
    {ExitCode::machine_cannot, ExitCode::wrong_data, ExitCode::wrong_path, ExitCode::incomplete,
     ExitCode::unhealthy},
    kRunFooter,
    {.in_help = 0, .in_list = 0},
    declare,
    carry_out});

}  // namespace
}  // namespace linkgain

#include "run_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/analysis/training_summary.hpp"
#include "linkgain/base/environment.hpp"
#include "linkgain/process/signals.hpp"
#include "linkgain/process/temporary_folder.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/run/launcher.hpp"
#include "linkgain/run/mpi_job.hpp"
#include "linkgain/run/run.hpp"
#include "linkgain/run/run_directory.hpp"
#include "linkgain/telemetry/host.hpp"
#include "linkgain/telemetry/nccl_log.hpp"

namespace linkgain {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

Seconds monotonic_time() {
  return Seconds{
      std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count()};
}

Settings settings_of(const RunOptions& options, const RunPlan& plan) {
  Settings settings;
  settings.argv = options.argv;
  settings.backend = name_of(plan.backend);
  settings.profile = plan.profile;
  settings.schedule = plan.sequential ? "sequential" : "paired";
  settings.variants = plan.variants;
  settings.launches = plan.launches;
  settings.precision = plan.precision;
  settings.budget = plan.budget;
  settings.sample_target = plan.sample_target;
  settings.training = plan.training;
  settings.require_healthy = options.require_healthy;
  return settings;
}

/// What starts the worker of a variant. NCCL logs into a file.
LaunchRequest launch_request(const RunOptions& options, const RunPlan& plan, const Variant& variant,
                             const std::string& nccl_log) {
  LaunchRequest request;
  request.launcher = options.launcher;
  request.ranks = plan.ranks;
  request.hostfile = options.hostfile;
  request.worker = worker_path();
  request.worker_arguments = {"--serve", "--backend", std::string(name_of(plan.backend))};
  if (!plan.gpus.empty()) {
    std::string list;
    for (int gpu : plan.gpus) list += fmt::format("{}{}", list.empty() ? "" : ",", gpu);
    request.worker_arguments.insert(request.worker_arguments.end(), {"--gpus", list});
  }
  std::vector<std::string>& arguments = request.worker_arguments;
  if (plan.training) {
    arguments.insert(arguments.end(), {"--steps", fmt::format("{}", plan.training->steps)});
    if (!plan.training->tokens.empty()) {
      arguments.insert(arguments.end(), {"--tokens", plan.training->tokens});
    }
  }
  request.variant_environment = variant.environment;
  if (plan.backend == BackendKind::nccl) {
    request.variant_environment["NCCL_DEBUG"] = "INFO";
    // Nothing is logged per call with these, so that timed jobs may keep them.
    request.variant_environment["NCCL_DEBUG_SUBSYS"] = "INIT,ENV";
    request.variant_environment["NCCL_DEBUG_FILE"] = nccl_log;
  }
  request.as_root = ::geteuid() == 0;
  request.cores = usable_cores();
  const Environment current = current_environment();
  const auto mpi_type = current.find("SLURM_MPI_TYPE");
  request.mpi_type_set = mpi_type != current.end() && mpi_type->second != "none";
  if (options.hostfile) request.forwarded = variables_to_forward(current);
  return request;
}

RunWorld real_world(const RunOptions& options, const RunPlan& plan, const RunDirectory& directory,
                    const TemporaryFolder& sessions, const SignalWatch& watch) {
  RunWorld world;
  world.start_job = [&](int variant, int launch) -> std::unique_ptr<Job> {
    const Variant& chosen = plan.variants[static_cast<std::size_t>(variant)];
    LaunchRequest request =
        launch_request(options, plan, chosen, directory.nccl_log_pattern(chosen.name, launch));
    request.session_folder = sessions.path() / fmt::format("{}-{}", variant, launch);
    const ProcessRequest process = process_request(request, directory.job_log(chosen.name, launch));
    return std::make_unique<MpiJob>(chosen.name, process, &watch);
  };
  world.find_path = [&](int variant, int launch, const protocol::HelloReply& hello,
                        const std::string& algorithm) {
    if (hello.path) return *hello.path;
    if (plan.backend != BackendKind::nccl) return Path::unknown;
    const std::string& name = plan.variants[static_cast<std::size_t>(variant)].name;
    const TransportLines lines =
        read_transport_logs(directory.path(), directory.nccl_log_prefix(name, launch));
    return path_of(lines, same_for_all_pairs(hello.machine.links, &PairLink::nvlink), algorithm);
  };
  world.clock = monotonic_time;
  return world;
}

void write_files(const Record& record, const RunDirectory& directory) {
  write_file_atomically(directory.record(), to_json(record));
  write_file_atomically(directory.report(), markdown_report(RunSummary(record)));
  std::filesystem::remove(directory.journal());
}

/// Warnings go to the person, in colour on a terminal that has it.
void print_result(const RunOptions& options, const Record& record, const RunDirectory& directory) {
  if (options.json) {
    fmt::print("{}", to_json_without_samples(record));
    return;
  }
  const RunSummary summary(record);
  fmt::print("\n{}\n", headline(summary));
  for (const std::string& tables : {size_tables(summary), pair_tables(summary)}) {
    if (!tables.empty()) fmt::print("{}\n", tables);
  }
  fmt::print("{}", health_line(summary));
  const bool color =
      options.color && std::getenv("NO_COLOR") == nullptr && ::isatty(STDOUT_FILENO) == 1;
  for (const Warning& warning : record.warnings) {
    fmt::print("{}warning:{} {}\n", color ? "\033[33m" : "", color ? "\033[0m" : "", warning.text);
    if (!warning.advice.empty()) fmt::print("         {}\n", warning.advice);
  }
  fmt::print("{}record: {}\n", record.warnings.empty() ? "" : "\n", directory.record().string());
}

}  // namespace

int run_command(const RunOptions& options) {
  const Site site = survey_site(options.hostfile);
  const RunPlan plan = make_plan(options, site);
  require_launcher(options.launcher);
  const RunDirectory directory(options, plan, site);
  const File log(std::fopen(directory.log().c_str(), "ae"));
  Record record;
  record.started = utc_now(false);
  record.settings = settings_of(options, plan);
  record.warnings = plan.warnings;
  JournalWriter journal(directory.journal());
  const SignalWatch watch;
  const TemporaryFolder sessions;
  const RunWorld world = real_world(options, plan, directory, sessions, watch);
  const double start = monotonic_time().value;
  int status = 0;
  try {
    Progress progress(::isatty(STDERR_FILENO) == 1, options.quiet, log.get());
    for (const Warning& warning : plan.warnings) progress.note("notice: " + warning.text);
    run(plan, world, record, journal, progress);
  } catch (const Interrupted& interruption) {
    record.status = "interrupted";
    status = kSignalExitBase + interruption.signal_number();
    fmt::print(stderr, "linkgain: {}; what was measured is kept\n", interruption.what());
  }
  record.wall_seconds = monotonic_time().value - start;
  note_exposed_communication(record);
  const ExitCode verdict = judge(record);
  if (status == 0) status = static_cast<int>(verdict);
  record.exit_code = status;
  write_files(record, directory);
  print_result(options, record, directory);
  return status;
}

}  // namespace linkgain

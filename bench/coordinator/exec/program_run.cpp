#include "linkgain/exec/program_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/process_entry.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/standard_streams.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/exec/command_words.hpp"
#include "linkgain/exec/received_variables.hpp"
#include "linkgain/patterns/engine_lines.hpp"
#include "linkgain/process/job_reaper.hpp"
#include "linkgain/process/left_processes.hpp"
#include "linkgain/process/log_limit.hpp"
#include "linkgain/process/process.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/watch/program_evidence.hpp"
#include "program_logs.hpp"

namespace linkgain {
namespace {

using Clock = std::chrono::steady_clock;

/// From SIGTERM to SIGKILL.
constexpr Seconds kGrace{5.0};
/// How long a shell command before or after a run may take where --timeout is not given.
constexpr Seconds kShellLimit{3600.0};
/// How long after an interrupt, when somebody waits.
constexpr Seconds kHurriedShellLimit{10.0};
constexpr Seconds kTick{1.0};
/// By how much more than that a busy machine wakes this program late. It was stopped else, and
/// nobody read what the command wrote.
constexpr Seconds kMostLate{1.0};
/// How often the tree's members are noted, so that one that leaves it is found.
constexpr Seconds kNotePeriod{5.0};
constexpr Seconds kReadyPeriod{0.02};

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

double seconds_since(Clock::time_point start) { return seconds_between(start, Clock::now()); }

std::string absent_text(double seconds) {
  return fmt::format("linkgain itself did not run for {:.1f} s of it", seconds);
}

bool succeeded(const ProcessEnd& end) { return end.status == 0; }

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using Log = std::unique_ptr<std::FILE, Close>;

Log open_log(const std::filesystem::path& path) {
  const int file = open_to_write(path, WriteMode::append);
  Log log(file < 0 ? nullptr : ::fdopen(file, "a"));
  if (!log) throw MachineError(fmt::format("cannot write {}", path_of_held(path).string()));
  return log;
}

/// Finds the last lines that are worth showing of what a program wrote into a file.
std::vector<std::string> last_lines_of(const std::filesystem::path& path) {
  constexpr std::streamoff kMostBytes = 1 << 16;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  file.seekg(std::max<std::streamoff>(0, file.tellg() - kMostBytes));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const OutputRequest nothing{};
  OutputReader reader(nothing, Clock::now());
  reader.read(false, text, Clock::now());
  reader.finish();
  return reader.last_lines();
}

/// Ends what still runs of it.
void end_whole(Process& process, const std::string& what, std::vector<std::string>& notes) {
  const std::vector<pid_t> survivors = process.end_tree(kGrace);
  if (survivors.empty()) return;
  notes.push_back(
      fmt::format("{} left processes that nothing ends: {}", what, fmt::join(survivors, ", ")));
}

/// Says "left 3 processes, which were ended: python3, sleep".
std::string left_text(const std::vector<ProcessEntry>& left) {
  std::set<std::string> names;
  for (const ProcessEntry& each : left) names.insert(plain_text(each.name));
  return fmt::format("left {}, which {} ended: {}",
                     counted(static_cast<int>(left.size()), "process", "processes"),
                     left.size() == 1 ? "was" : "were",
                     first_named(std::vector<std::string>(names.begin(), names.end())));
}

constexpr const char* kLeftAdvice =
    "work in the background is not in its time: let the command wait for it (wait); start a daemon "
    "before linkgain, a server with --server";

/// What ended the waiting for a command.
enum class Ending {
  exited,
  limit,         ///< of --timeout or --silence, which the report says
  server_ended,  ///< under its client
};

std::vector<CudaSettings> cuda_settings_of(const ExecPlan& plan, const Environment& environment) {
  std::vector<CudaSettings> settings;
  for (const Variant& variant : plan.variants) {
    settings.push_back(cuda_settings(environment_of(variant, environment)));
  }
  return settings;
}

class Run {
 public:
  Run(const ExecPlan& plan, const RunPlace& place, const RunSurroundings& surroundings,
      const SignalWatch& watch, ProgramWatch& gpus, const std::function<void()>& tick)
      : plan_(plan),
        surroundings_(surroundings),
        watch_(watch),
        gpus_(gpus),
        tick_(tick),
        report_{.place = place},
        environment_(environment_of(plan.variants.at(static_cast<std::size_t>(place.variant)),
                                    surroundings.environment)) {
    log_ = surroundings.log(name_of(plan, place) + ".log");
    limits_.emplace_back(log_);
    if (plan.server) {
      server_log_ = surroundings.log(name_of(plan, place) + ".server.log");
      limits_.emplace_back(server_log_);
    }
    report_.log = log_;
  }

  RunReport carry_out() {
    try {
      if (run_shell("--prepare", plan_.prepare, &watch_)) measure();
    } catch (const Interrupted&) {
      server_.reset();
      if (watched_) gpus_.end();
      run_shell("--cleanup", plan_.cleanup, nullptr);
      throw;
    }
    if (server_) end_server();
    if (watched_) {
      report_.evidence = gpus_.end();
      std::vector<std::string> missing = logs_.note(report_.evidence);
      if (!report_.failure) report_.missing_logs = std::move(missing);
      std::ranges::move(engine_choices_in({log_, server_log_}),
                        std::back_inserter(report_.evidence.engine_says));
      report_.received = received_in_run(plan_, report_.place, gpus_.processes(), environment_);
    }
    report_.evidence.cost_s += reading_cost_ + report_.waited.value;
    // What was measured counts, and who interrupts it now ends the next run.
    run_shell("--cleanup", plan_.cleanup, &watch_);
    limit_logs();
    if (report_.failure) report_.values.clear();
    return std::move(report_);
  }

 private:
  /// Runs everything but the shell commands.
  void measure() {
    gpus_.begin(static_cast<std::size_t>(report_.place.variant));
    watched_ = true;
    try {
      if (!plan_.server || start_server()) run_command();
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {
      report_.failure = error.what();  // program and folder were there before the first run
    }
  }

  bool limit_logs();
  std::string too_long(Seconds limit) const;
  std::optional<ProcessEnd> wait_for(Process& shell, const SignalWatch* watch) const;
  bool run_shell(const char* option, const std::string& text, const SignalWatch* watch);
  bool ends_well(const char* option, const std::string& text, const SignalWatch* watch);
  bool start_server();
  void blame_server(std::string failure);
  void end_server();
  bool is_ready(std::ifstream& log, std::string& line) const;
  void look_who_hangs(Process* client, std::FILE* log);
  void run_command();
  Ending follow(Process& process, ExitClock& clock, OutputReader& reader, std::FILE* log,
                Clock::time_point start);
  std::optional<std::string> limit_passed(double elapsed, double silent) const;
  double seconds_to_wait(double elapsed, double silent) const;
  void keep(const Output& output, OutputReader& reader, std::FILE* log,
            Clock::time_point latest = Clock::time_point::max());
  void keep_rest(Process& process, OutputReader& reader, std::FILE* log, Clock::time_point latest,
                 std::size_t most_bytes);

  const ExecPlan& plan_;
  const RunSurroundings& surroundings_;
  const SignalWatch& watch_;
  ProgramWatch& gpus_;
  const std::function<void()>& tick_;
  RunReport report_;
  Environment environment_;
  ProgramLogs logs_{plan_, report_.place, surroundings_.log, surroundings_.nccl_logs, environment_};
  std::filesystem::path log_;  ///< of the command and of those before and after it
  std::filesystem::path server_log_;
  std::vector<LogLimit> limits_;
  std::unique_ptr<Process> server_;
  double reading_cost_ = 0.0;  ///< processor time that reading its output and searching it took
  bool watched_ = false;       ///< since this run began
  bool client_failed_ = false;
  bool is_read_ = true;     ///< what is shown of its output
  bool line_open_ = false;  ///< what was shown last has no end
};

/// Returns whether one was cut.
bool Run::limit_logs() {
  logs_.limit();
  return std::ranges::count_if(limits_, [](LogLimit& each) { return each.keep(); }) > 0;
}

/// Says what passed its limit: the command, or one before or after it.
std::string Run::too_long(Seconds limit) const {
  return fmt::format("had not ended after {:g} s{}", limit.value,
                     plan_.timeout ? " (--timeout)" : "");
}

/// Waits until it ends, for --timeout at most; once an interrupt was caught it may take
/// kHurriedShellLimit more. Throws Interrupted while nothing was measured that could be lost.
std::optional<ProcessEnd> Run::wait_for(Process& shell, const SignalWatch* watch) const {
  if (watch == nullptr) return shell.wait(kHurriedShellLimit);
  try {
    return shell.wait(plan_.timeout.value_or(kShellLimit), watch);
  } catch (const Interrupted&) {
    if (!watched_) throw;
    return shell.wait(kHurriedShellLimit);
  }
}

/// Returns false where it failed, which the report then says.
bool Run::run_shell(const char* option, const std::string& text, const SignalWatch* watch) {
  if (text.empty()) return true;
  try {
    return ends_well(option, text, watch);
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    if (!report_.failure) report_.failure = error.what();
    return false;
  }
}

bool Run::ends_well(const char* option, const std::string& text, const SignalWatch* watch) {
  Process shell(
      {.arguments = {"/bin/sh", "-c", filled_in(text, placeholders_of(plan_, report_.place))},
       .environment = environment_,
       .error_file = log_,
       .output_file = log_,
       .has_input = false});
  const auto end = wait_for(shell, watch);
  const bool cut_short = !end && watch_.caught();
  if (!end && !cut_short && !report_.failure) {
    report_.failure = fmt::format("{} {}", option, too_long(plan_.timeout.value_or(kShellLimit)));
    look_who_hangs(&shell, open_log(log_).get());
  }
  end_whole(shell, option, report_.notes);
  if (end && succeeded(*end)) return true;
  if (cut_short) {
    // Whoever interrupts a cleanup does not lose what was measured before it.
    report_.notes.push_back(fmt::format("{} was ended {:g} s after {}", option,
                                        kHurriedShellLimit.value, signal_name(*watch_.caught())));
  } else if (!report_.failure) {
    report_.failure = fmt::format("{} ended with {}", option, how_it_ended(*end));
  }
  return false;
}

bool Run::is_ready(std::ifstream& log, std::string& line) const {
  constexpr std::size_t kMostInALook = std::size_t{4} << 20;  // limits are looked at, too
  std::string text(kMostInALook, '\0');
  log.clear();
  log.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(log.gcount()));
  for (const char c : text) {
    if (c != '\n' && c != '\r') {
      if (line.size() < OutputReader::kLongestLine) line += c;
      continue;
    }
    if (plan_.server->ready.matches(std::exchange(line, {}))) return true;
  }
  // A prompt has no end of line.
  return !line.empty() && plan_.server->ready.matches(line);
}

/// Looks before anything is ended, for the report and at the end of `log`.
void Run::look_who_hangs(Process* client, std::FILE* log) {
  std::vector<ProcessEntry> all;
  for (Process* process : {client, server_.get()}) {
    if (process != nullptr) std::ranges::copy(process->remember_tree(), std::back_inserter(all));
  }
  report_.hang = hang_lines(look_at_hang(std::move(all)));
  for (const std::string& line : report_.hang) {
    print_message(log, fmt::format("linkgain: {}\n", line));
  }
}

/// Returns false where it failed, which the report then says.
bool Run::start_server() {
  const Clock::time_point start = Clock::now();
  server_ = std::make_unique<Process>(ProcessRequest{.arguments = server_of(plan_, report_.place),
                                                     .environment = logs_.for_program(),
                                                     .error_file = server_log_,
                                                     .output_file = server_log_,
                                                     .has_input = false});
  gpus_.follow(*server_);
  std::ifstream log(server_log_, std::ios::binary);
  std::string line;
  const Deadline deadline(plan_.server->ready_timeout);
  double ticked = 0.0;
  while (true) {
    const double before = seconds_since(start);
    const std::optional<ProcessEnd> end = server_->wait(kReadyPeriod, &watch_);
    const double late = seconds_since(start) - before - kReadyPeriod.value;
    if (late > kMostLate.value) {
      report_.failure = absent_text(late);
      return false;
    }
    if (is_ready(log, line)) break;
    if (end) {
      blame_server(fmt::format("the server ended with {} before it was ready", how_it_ended(*end)));
    } else if (deadline.passed()) {
      blame_server(
          fmt::format("the server was not ready within {:g} s", plan_.server->ready_timeout.value));
      look_who_hangs(nullptr, open_log(server_log_).get());
    }
    if (report_.failure) return false;
    if (seconds_since(start) - ticked < kTick.value) continue;
    ticked = seconds_since(start);
    tick_();
    if (!limit_logs()) continue;
    log.clear();
    log.seekg(0);
    line.clear();
  }
  report_.values[std::string(ProgramMetric::kStartUp)] = {
      .samples = {seconds_since(start)}, .count = 1, .missing = {}};
  return true;
}

/// Points to the server's log, where more is; what tells more is then in the server's log.
void Run::blame_server(std::string failure) {
  report_.failure = std::move(failure);
  report_.log = server_log_;
  report_.last_lines = last_lines_of(server_log_);
  report_.lines_shown = false;
}

void Run::end_server() {
  // A client usually fails because its server is gone.
  if ((!report_.failure || client_failed_) && !server_->running()) {
    blame_server(fmt::format(
        "the server ended with {} before the client did{}",
        how_it_ended(server_->wait(Seconds{0.0}).value_or(ProcessEnd{})),
        client_failed_ ? fmt::format(", which then ended with {}", *report_.failure) : ""));
  }
  end_whole(*server_, "the server", report_.notes);
  server_.reset();
}

std::optional<std::string> Run::limit_passed(double elapsed, double silent) const {
  if (plan_.timeout && elapsed >= plan_.timeout->value) {
    return fmt::format("it {}", too_long(*plan_.timeout));
  }
  if (plan_.silence && silent >= plan_.silence->value) {
    return fmt::format("no output for {:g} s (--silence)", plan_.silence->value);
  }
  return std::nullopt;
}

double Run::seconds_to_wait(double elapsed, double silent) const {
  double seconds = kTick.value;
  if (plan_.timeout) seconds = std::min(seconds, plan_.timeout->value - elapsed);
  if (plan_.silence) seconds = std::min(seconds, plan_.silence->value - silent);
  return seconds;
}

/// Keeps what came; it counts as having arrived at `latest` at the latest.
void Run::keep(const Output& output, OutputReader& reader, std::FILE* log,
               Clock::time_point latest) {
  print_message(log, output.text);
  if (surroundings_.show_output) {
    // Who reads slowly is waited for, who stopped is not.
    constexpr Seconds kPatience{1.0};
    is_read_ = print_message(stderr, output.text, is_read_ ? kPatience : Seconds{});
    line_open_ = !output.text.ends_with('\n');
  }
  reader.read(output.is_error, output.text, std::min(output.arrived, latest));
}

/// Keeps what lies in the pipes now, and what came before and waits to be searched. Throws
/// Interrupted.
void Run::keep_rest(Process& process, OutputReader& reader, std::FILE* log,
                    Clock::time_point latest, std::size_t most_bytes) {
  Output output;
  for (std::size_t bytes = 0; bytes < most_bytes && process.read_rest(output);) {
    bytes += output.text.size();
    keep(output, reader, log, latest);
    watch_.throw_if_caught();
  }
}

/// Follows it until it exits or passes a limit, or its server ends.
Ending Run::follow(Process& process, ExitClock& clock, OutputReader& reader, std::FILE* log,
                   Clock::time_point start) {
  double absent = 0.0;
  double last_output = 0.0;
  double noted = 0.0;
  double ticked = 0.0;
  Output output;
  while (true) {
    const double before = seconds_since(start);
    const double longest = seconds_to_wait(before, before - last_output);
    const Activity activity = process.wait_for_activity(output, Seconds{longest}, &watch_);
    if (const double late = seconds_since(start) - before - longest; late > kMostLate.value) {
      absent += late;
      start += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(late));
    }
    const double elapsed = seconds_between(start, clock.exited_or_now());
    if (activity == Activity::exited) {
      if (absent > 0.0) {
        report_.failure = absent_text(absent);
      }
      report_.values[std::string(ProgramMetric::kTime)] = {
          .samples = {elapsed}, .count = 1, .missing = {}};
      return Ending::exited;
    }
    if (activity == Activity::wrote) {
      last_output = elapsed;
      keep(output, reader, log);
    }
    report_.failure = limit_passed(elapsed, elapsed - last_output);
    if (report_.failure) return Ending::limit;
    if (server_ && !server_->running()) return Ending::server_ended;
    if (elapsed - noted >= kNotePeriod.value) {
      noted = elapsed;
      process.remember_tree();
    }
    if (elapsed - ticked >= kTick.value) {
      ticked = elapsed;
      tick_();
      limit_logs();
    }
  }
}

void Run::run_command() {
  const Log log = open_log(log_);
  const ProcessRequest request{.arguments = command_of(plan_, report_.place),
                               .environment = logs_.for_program(),
                               .error_file = {},
                               .output_file = {},
                               .has_input = false};
  ExitClock clock;
  const double worked = thread_processor_time().value;
  const Clock::time_point start = Clock::now();
  Process process(request);
  clock.watch(process.id());
  gpus_.follow(process);
  OutputReader reader(plan_.output, start);
  // More than pipes and their reader hold; what is left of the tree may write on and on.
  constexpr std::size_t kMostInPipes = PipeReader::kMostKept + (std::size_t{4} << 20);
  const Ending ending = follow(process, clock, reader, log.get(), start);
  // Before the tree is ended, which takes a while.
  const Clock::time_point end_of_time = clock.exited_or_now();
  keep_rest(process, reader, log.get(), end_of_time, kMostInPipes);
  reading_cost_ = thread_processor_time().value - worked + process.reading().value;
  report_.waited = process.waited();
  if (ending == Ending::limit) look_who_hangs(&process, log.get());
  const std::vector<ProcessEntry> left =
      ending == Ending::exited ? processes_left_by(process, seconds_between(start, end_of_time))
                               : std::vector<ProcessEntry>{};
  end_whole(process, "the command", report_.notes);
  keep_rest(process, reader, log.get(), end_of_time, std::numeric_limits<std::size_t>::max());
  if (line_open_) print_message(stderr, "\n");
  reader.finish();
  report_.last_lines = reader.last_lines();
  report_.lines_shown = surroundings_.show_output;
  const std::optional<ProcessEnd> end = process.wait(Seconds{0.0});
  client_failed_ = ending == Ending::exited && end && !succeeded(*end);
  if (client_failed_) report_.failure = how_it_ended(*end);
  if (!left.empty() && !report_.failure) {
    report_.failure = left_text(left);
    report_.advice = kLeftAdvice;
  }
  report_.values.merge(reader.values());
}

/// Masks secrets in all that the program or its processes said.
void mask(RunReport& report, const KnownSecrets& secrets) {
  const auto mask_text = [&](std::string& text) { text = secrets.masked(std::move(text)); };
  if (report.failure) mask_text(*report.failure);
  for (std::vector<std::string>* each : {&report.last_lines, &report.notes, &report.hang}) {
    std::ranges::for_each(*each, mask_text);
  }
  for (auto& [metric, values] : report.values) mask_text(values.missing);
}

}  // namespace

ProgramRunner::ProgramRunner(const ExecPlan& plan, const RunSurroundings& surroundings,
                             const SignalWatch& watch)
    : plan_(plan),
      surroundings_(surroundings),
      watch_(watch),
      secrets_(secrets_of(plan, surroundings.environment)),
      reaper_(kGrace, SIGTERM, Unmarked::are_ended),
      gpus_(std::make_unique<ProgramWatch>(cuda_settings_of(plan, surroundings.environment))) {}

ProgramRunner::~ProgramRunner() = default;

std::vector<GpuNeighbour> ProgramRunner::watch_idle() const {
  return gpus_->watch_idle(Seconds{1.0});
}

ErrorCounts ProgramRunner::error_counts() { return gpus_->error_counts(); }

std::vector<GpuFault> ProgramRunner::faults() { return gpus_->faults(); }

RunReport ProgramRunner::run(const RunPlace& place, const std::function<void()>& tick) {
  watch_.throw_if_caught();
  RunReport report = Run(plan_, place, surroundings_, watch_, *gpus_, tick).carry_out();
  mask(report, secrets_);
  return report;
}

}  // namespace linkgain

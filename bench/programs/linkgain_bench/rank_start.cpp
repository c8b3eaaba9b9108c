#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "bench_modes.hpp"
#include "linkgain/backends/registry.hpp"
#include "linkgain/base/descriptor.hpp"
#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/helper_process.hpp"
#include "linkgain/base/process_entry.hpp"
#include "linkgain/base/standard_streams.hpp"
#include "linkgain/base/temporary_folder.hpp"
#include "linkgain/runtime/ranks.hpp"
#include "linkgain/runtime/watchdog.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {
namespace {

/// Returns whether a launcher of one rank left this variable, by which an mpirun within would take
/// itself for a part of that job and refuse to start. Other OMPI_MCA_* are the user's.
bool is_of_outer_job(std::string_view name) {
  static constexpr std::array<std::string_view, 12> kStarts{
      "PMIX_", "PMI_", "OMPI_MCA_orte_", "OMPI_MCA_ess", "OMPI_MCA_pmix", "OMPI_MCA_initial_wdir",
      "OMPI_MCA_mpi_oversubscribe",
      // Open MPI 5 has these.
      "PRTE_", "OMPI_MCA_PREFIXES", "OMPI_MCA_mca_base_component_path", "OMPI_MCA_num_procs",
      "OMPI_MCA_cpu_type"};
  if (name.starts_with("OMPI_") && !name.starts_with("OMPI_MCA_")) return true;
  return std::ranges::any_of(kStarts,
                             [=](std::string_view start) { return name.starts_with(start); });
}

void require_no_ranks_yet(const WorkerOptions& options) {
  const int ranks = ranks_of_launcher();
  if (ranks < 2) return;
  const bool as_nccl_tests = options.nccl_tests.gpus * options.nccl_tests.threads > 1;
  throw UsageError(
      fmt::format("{} starts ranks, but this is one of {} ranks already",
                  as_nccl_tests ? "-g or -t above 1" : "--np", ranks),
      as_nccl_tests ? "a rank drives one GPU: leave -g and -t out, and have the launcher start a "
                      "rank for each GPU"
                    : "leave it out, or leave the launcher out");
}

/// Undoes a binding: mpirun binds a rank that it starts alone to one core, on which all would then
/// run.
void forget_outer_binding(const Environment& environment) {
  if (!environment.contains("OMPI_COMM_WORLD_SIZE")) return;
  cpu_set_t all;
  CPU_ZERO(&all);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) CPU_SET(cpu, &all);
  ::sched_setaffinity(0, sizeof all, &all);  // the kernel keeps to those that are allowed
}

int usual_ranks(const WorkerOptions& options) {
  if (options.backend == BackendKind::mpi) return 2;
  if (options.gpus.size() >= 2) return static_cast<int>(options.gpus.size());
  const TimeBound bound("counting the GPUs", options.timeout);
  Machine machine;
  describe_gpus(machine);
  const int gpus = static_cast<int>(machine.ranks.size());
  if (gpus >= 2) return gpus;
  throw MachineError(fmt::format("the nccl backend needs two GPUs, CUDA shows {}", gpus),
                     "check `nvidia-smi -L` and CUDA_VISIBLE_DEVICES, or use --backend mpi");
}

/// Returns mpirun's command line: ranks are kept on this host, whatever allocation there is around
/// it; ranks bind themselves near their GPUs.
std::vector<std::string> mpirun_line(int ranks) {
  std::vector<std::string> line{
      "mpirun", "-np", fmt::to_string(ranks),          "--bind-to", "none",
      "--mca",  "ras", "^slurm,tm,lsf,gridengine,alps"};
  if (::geteuid() == 0) line.push_back("--allow-run-as-root");
  if (ranks > usable_cores()) line.push_back("--oversubscribe");
  return line;
}

/// Returns the name that this program was called by, which may be that of a link, as a path.
std::string own_path(const std::string& name, const Environment& environment) {
  if (name.find('/') != std::string::npos) return name;
  const auto found = find_program(name, environment);
  return found ? found->string() : "/proc/self/exe";
}

/// Returns the arguments without --np and its value.
std::vector<std::string> without_ranks(const std::vector<std::string>& arguments) {
  std::vector<std::string> kept;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i].starts_with("--np=")) continue;
    if (arguments[i] == "--np") {
      ++i;
      continue;
    }
    kept.push_back(arguments[i]);
  }
  return kept;
}

template <typename Texts>
std::vector<char*> pointers(Texts& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// Where this program is killed, removes a folder once mpirun has ended, too.
class FolderRemover {
 public:
  explicit FolderRemover(const std::filesystem::path& folder) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    const Descriptor reading(ends[0]);
    open_while_in_use_ = Descriptor(ends[1]);
    process_.emplace("linkgain-reaper", std::set<int>{reading.get()}, [&] {
      char none = 0;
      while (::read(reading.get(), &none, 1) < 0 && errno == EINTR) {
      }
      std::filesystem::remove_all(folder);
    });
    ::fcntl(open_while_in_use_.get(), F_SETFD, 0);  // mpirun has it, too
  }

 private:
  Descriptor open_while_in_use_;
  std::optional<HelperProcess> process_;
};

/// While one lives, signals that ask to end and those of children wait to be taken by next().
class SignalQueue {
 public:
  SignalQueue() {
    sigemptyset(&set_);
    for (const int number : {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
      sigaddset(&set_, number);
    }
    sigprocmask(SIG_BLOCK, &set_, &before_);
    descriptor_ = ::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK);
  }
  ~SignalQueue() {
    ::close(descriptor_);
    restore();
  }
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  void restore() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }

  struct Arrival {
    int number = 0;         ///< 0: none
    bool of_group = false;  ///< a terminal sent it to the whole group
  };

  /// Waits a second for one, or for `other`.
  Arrival next(pollfd other) const {
    std::array awaited{pollfd{descriptor_, POLLIN, 0}, other};
    constexpr int kSecond = 1000;
    ::poll(awaited.data(), awaited.size(), kSecond);
    signalfd_siginfo info{};
    if (::read(descriptor_, &info, sizeof info) != sizeof info) return {};
    return {static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
  int descriptor_ = -1;
};

/// What mpirun prints, passed on to standard output: mpirun says nothing where that cannot be
/// written, and ends as if it had been.
class MpirunOutput {
 public:
  MpirunOutput() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) {
      throw MachineError(fmt::format("there is no pipe for mpirun's output: {}",
                                     std::generic_category().message(errno)));
    }
    ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  ~MpirunOutput() {
    for (const int end : ends_) ::close(end);
  }
  MpirunOutput(const MpirunOutput&) = delete;
  MpirunOutput& operator=(const MpirunOutput&) = delete;

  /// Makes this the standard output, in mpirun's process.
  void become_output() const { ::dup2(ends_[1], STDOUT_FILENO); }

  /// Begins to read in this process, when mpirun is there.
  void begin() {
    ::close(std::exchange(ends_[1], -1));
    std::signal(SIGPIPE, SIG_IGN);  // what nobody reads is told
  }

  /// Awaits more text, or room for what came.
  pollfd awaited() const {
    return text_.empty() ? pollfd{ends_[0], POLLIN, 0} : pollfd{STDOUT_FILENO, POLLOUT, 0};
  }

  /// Passes on what has come, as far as it goes without waiting for its reader: a signal must end
  /// the program meanwhile. False where some is left.
  bool pass_on() {
    while (!text_.empty() || read_on()) {
      std::string_view left = text_;
      const int error = write_what_fits(STDOUT_FILENO, left);
      if (error == 0 && !left.empty()) {
        text_.erase(0, text_.size() - left.size());
        return false;
      }
      if (error != 0) error_ = error;
      text_.clear();
    }
    return true;
  }

  void require_written() const {
    if (error_ == 0) return;
    throw UsageError("cannot write the output: " + std::generic_category().message(error_));
  }

 private:
  /// Reads on; returns whether more had come.
  bool read_on() {
    std::array<char, 4096> more{};
    const ssize_t count = ::read(ends_[0], more.data(), more.size());
    if (count > 0) text_.assign(more.data(), static_cast<std::size_t>(count));
    if (count == 0) ::close(std::exchange(ends_[0], -1));
    return count > 0;
  }

  std::array<int, 2> ends_{-1, -1};
  std::string text_;  ///< that came and was not written yet
  int error_ = 0;     ///< of a write, the last one
};

/// Tells of a signal: mpirun is quiet, so that it does not tell of a rank that a signal ended
/// either.
void tell_of_signal(std::string_view who, int status) {
  constexpr int kSignalBase = 128;
  const char* name = status > kSignalBase ? sigabbrev_np(status - kSignalBase) : nullptr;
  if (name != nullptr) {
    print_message(stderr, fmt::format("linkgain-bench: {} was ended by SIG{}\n", who, name));
  }
}

/// Tells when mpirun has been without ranks, which it had, for so long that it hangs in its own
/// end: Open MPI 4.1 does now and then where a rank left without MPI_Finalize.
class RanksWatch {
 public:
  /// Returns whether all ranks are long gone; `is_read` says that mpirun does not wait for a reader
  /// of its output.
  bool are_long_gone(pid_t mpirun, bool is_read) {
    constexpr std::chrono::seconds kLong{10};
    const Clock::time_point now = Clock::now();
    const auto ranks = children_of(mpirun);
    if (!ranks || !ranks->empty() || (seen_ && !is_read)) seen_ = now;
    return seen_ && now - *seen_ > kLong;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> seen_;
};

/// Returns mpirun's status, or 128 and the signal that ended it; absent while it goes on.
std::optional<int> status_of(pid_t mpirun, bool was_asked, bool is_read, RanksWatch& ranks) {
  int status = 0;
  if (::waitpid(mpirun, &status, WNOHANG) == mpirun) {
    const bool killed = WIFSIGNALED(status);
    const int code = killed ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (!was_asked) tell_of_signal(killed ? "mpirun" : "a rank", code);
    return code;
  }
  if (!ranks.are_long_gone(mpirun, is_read)) return std::nullopt;
  print_message(stderr, "linkgain-bench: mpirun did not end with its ranks, and was killed\n");
  ::kill(mpirun, SIGKILL);
  ::waitpid(mpirun, &status, 0);
  return static_cast<int>(ExitCode::incomplete);
}

/// Runs mpirun with these arguments and variables, both ended by null. It gets the signals that
/// this program is sent, and ends with it; what it prints goes to standard output. Returns its
/// status, or 128 and the signal that ended it or this program. Throws MachineError where it cannot
/// be started, UsageError where not all that it printed could be written.
int run_to_end(const std::string& program, const std::vector<char*>& line,
               const std::vector<char*>& variables) {
  std::signal(SIGCHLD, SIG_DFL);  // where it was ignored the system would keep no status
  const SignalQueue signals;
  MpirunOutput output;
  const pid_t own = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) {
    throw MachineError(
        fmt::format("'{}' cannot be started: {}", program, std::generic_category().message(errno)));
  }
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != own) ::_exit(128 + SIGTERM);
    output.become_output();
    signals.restore();
    ::execve(program.c_str(), line.data(), variables.data());
    constexpr int kNotExecutable = 126;
    ::_exit(kNotExecutable);
  }
  output.begin();
  int asked = 0;
  RanksWatch ranks;
  bool is_all = true;
  for (std::optional<int> ended;;) {
    if (!ended) ended = status_of(child, asked != 0, is_all, ranks);
    is_all = output.pass_on();
    // mpirun ends with 1 where a signal ended it, which is a status of a rank's as well. With 0 it
    // has outlived the signal.
    if (asked != 0 && ended.value_or(0) != 0) return 128 + asked;
    if (ended && is_all) {
      output.require_written();
      return *ended;
    }
    const SignalQueue::Arrival signal = signals.next(output.awaited());
    if (signal.number == 0 || signal.number == SIGCHLD) continue;
    asked = signal.number;
    if (ended) return 128 + asked;  // nobody reads what is left
    if (!signal.of_group) ::kill(child, signal.number);
  }
}

int start_by_mpirun(int ranks, const std::vector<std::string>& command, Environment environment) {
  const auto mpirun = find_program("mpirun", environment);
  if (!mpirun) {
    throw MachineError("'mpirun' is not on PATH",
                       "install Open MPI (apt-get install openmpi-bin) or add its folder to PATH");
  }
  std::vector<std::string> line = mpirun_line(ranks);
  line.insert(line.end(), command.begin(), command.end());
  if (ranks_of_launcher() > 0) {
    std::erase_if(environment, [](const auto& each) { return is_of_outer_job(each.first); });
  }
  prepare_for_mpirun(environment);
  remove_left_segments();
  const std::unique_ptr<TemporaryFolder> segments = folder_for_segments();
  std::optional<FolderRemover> remover;
  if (segments) {
    name_segments_folder(segments->path(), environment);
    remover.emplace(segments->path());
  }
  // A rank that refuses says why itself; mpirun's twelve lines would follow. Open MPI 5 knows
  // neither this nor --quiet.
  environment["OMPI_MCA_orte_execute_quiet"] = "1";
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
  return run_to_end(*mpirun, pointers(line), pointers(variables));
}

}  // namespace

int start_ranks(const WorkerOptions& options, std::vector<std::string> arguments) {
  const Environment environment = current_environment();
  require_no_ranks_yet(options);
  require_built(options.backend);
  forget_outer_binding(environment);
  const RanksToStart asked = options.ranks_to_start.value_or(std::nullopt);
  const int ranks = asked ? *asked : usual_ranks(options);
  std::vector<std::string> command = without_ranks(arguments);
  command.insert(command.begin(), own_path(arguments.front(), environment));
  if (options.mode == WorkerOptions::Mode::nccl_tests) {
    command.insert(command.end(), {"-t", "1", "-g", "1"});  // of a flag given twice the last counts
  }
  return options.backend == BackendKind::mpi ? start_by_mpirun(ranks, command, environment)
                                             : start_local_ranks(ranks, command);
}

}  // namespace linkgain

#include "mpirun_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/process_entry.hpp"
#include "linkgain/base/standard_streams.hpp"

namespace linkgain {
namespace {

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

  /// In mpirun's process.
  void become_output() const { ::dup2(ends_[1], STDOUT_FILENO); }

  /// In this one, when that is there.
  void begin() {
    ::close(std::exchange(ends_[1], -1));
    std::signal(SIGPIPE, SIG_IGN);  // what nobody reads is told
  }

  /// More text, or room for what came.
  pollfd awaited() const {
    return text_.empty() ? pollfd{ends_[0], POLLIN, 0} : pollfd{STDOUT_FILENO, POLLOUT, 0};
  }

  /// What has come, as far as it goes without waiting for its reader: a signal must end the program
  /// meanwhile. False where some is left.
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
  /// Whether more had come.
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

/// mpirun is quiet, so that it does not tell of a rank that a signal ended either.
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
  /// `is_read` says that mpirun does not wait for a reader of its output.
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

/// mpirun's status, or 128 and the signal that ended it; absent while it goes on.
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

}  // namespace

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

}  // namespace linkgain

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "linkgain/base/descriptor.hpp"
#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/process_entry.hpp"
#include "linkgain/base/standard_streams.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/protocol/protocol.hpp"
#include "linkgain/runtime/ranks.hpp"
#include "local_place.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kOwnWords = "linkgain-bench: ";
/// Before advice, which follows such words.
constexpr std::string_view kOwnAdvice = "                ";

[[noreturn]] void fail(const char* what) {
  throw MachineError(
      fmt::format("ranks cannot be started: {}: {}", what, std::generic_category().message(errno)),
      "see the limits of processes and open files (ulimit -a)");
}

/// While one lives, signals that ask this process to end, and those of its children, wait to be
/// taken by next().
class Signals {
 public:
  Signals() {
    std::signal(SIGCHLD, SIG_DFL);  // where it was ignored the system would keep no status
    sigemptyset(&set_);
    for (const int number : {SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) {
      sigaddset(&set_, number);
    }
    sigprocmask(SIG_BLOCK, &set_, &before_);
    descriptor_ = Descriptor(::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!descriptor_) fail("signalfd");
  }
  ~Signals() { restore(); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  void restore() const { sigprocmask(SIG_SETMASK, &before_, nullptr); }
  int descriptor() const { return descriptor_.get(); }

  /// Returns the signal that asks this process to end; absent where none came.
  std::optional<int> request() const {
    signalfd_siginfo info{};
    while (::read(descriptor_.get(), &info, sizeof info) == sizeof info) {
      const int number = static_cast<int>(info.ssi_signo);
      if (number != SIGCHLD) return number;
    }
    return std::nullopt;
  }

 private:
  sigset_t set_{};
  sigset_t before_{};
  Descriptor descriptor_;
};

/// Says what a rank writes to standard error: its lines, with its number where they do not say
/// whose they are.
class RankWords {
 public:
  RankWords(int rank, Descriptor end) : rank_(rank), end_(std::move(end)) {
    ::fcntl(end_.get(), F_SETFL, O_NONBLOCK);
  }

  /// Returns where its words come; -1 once there are no more.
  int descriptor() const { return end_.get(); }

  /// Passes on the lines that have come, and what follows the last one where that is all.
  void pass_on() {
    constexpr std::size_t kLongestLine = 1 << 16;
    std::array<char, 4096> buffer{};
    while (end_) {
      const ssize_t count = ::read(end_.get(), buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) break;
      if (count == 0) end_.reset();
      pending_.append(buffer.data(), static_cast<std::size_t>(count));
    }
    std::size_t begin = 0;
    for (std::size_t end; (end = pending_.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      say(pending_.substr(begin, end - begin));
    }
    pending_.erase(0, begin);
    const bool is_all = !end_ && !pending_.empty();
    if (is_all || pending_.size() > kLongestLine) say(std::exchange(pending_, {}));
  }

 private:
  void say(const std::string& line) {
    const bool own = line.starts_with(kOwnWords) || (was_own_ && line.starts_with(kOwnAdvice));
    was_own_ = own;
    print_message(stderr,
                  own || line.empty() ? line + "\n" : fmt::format("rank {}: {}\n", rank_, line));
  }

  int rank_;
  Descriptor end_;
  std::string pending_;
  bool was_own_ = false;
};

struct StartedRank {
  pid_t process = -1;
  RankWords words;
  std::optional<int> status{};  ///< or 128 and its signal
};

/// The ranks of a job, from their start to their end; none outlives it.
class LocalJob {
 public:
  LocalJob(int ranks, std::vector<std::string> command) : command_(std::move(command)) {
    memory_ = Descriptor(::memfd_create("linkgain-meeting", MFD_CLOEXEC));
    if (!memory_ || ::ftruncate(memory_.get(), static_cast<off_t>(meeting_bytes(ranks))) != 0) {
      fail("shared memory");
    }
    std::vector<Descriptor> of_root;
    std::vector<Descriptor> of_others;
    for (int rank = 1; rank < ranks; ++rank) {
      std::array<int, 2> ends{-1, -1};
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) fail("sockets");
      of_root.emplace_back(ends[0]);
      of_others.emplace_back(ends[1]);
    }
    for (int rank = 0; rank < ranks; ++rank) {
      LocalPlace place{rank, ranks, memory_.get(), {}};
      if (rank > 0) place.sockets.push_back(of_others[static_cast<std::size_t>(rank) - 1].get());
      for (const Descriptor& socket : of_root) {
        if (rank == 0) place.sockets.push_back(socket.get());
      }
      start(place);
    }
  }

  ~LocalJob() {
    end(SIGKILL);
    for (const StartedRank& rank : ranks_) {
      if (!rank.status) ::waitpid(rank.process, nullptr, 0);
    }
  }
  LocalJob(const LocalJob&) = delete;
  LocalJob& operator=(const LocalJob&) = delete;

  /// Waits until all ranks have ended.
  int status() {
    std::optional<int> asked;
    std::optional<std::chrono::steady_clock::time_point> ending;
    bool killed = false;
    while (!have_ended()) {
      wait_for_news();
      if (const auto signal = signals_.request(); signal && !asked) asked = signal;
      take_ends();
      const auto now = std::chrono::steady_clock::now();
      if (!ending && (asked || first_failed_)) {
        ending = now;
        end(asked.value_or(SIGTERM));
      }
      if (ending && !killed && now - *ending > kGrace) {
        killed = true;
        end(SIGKILL);
      }
    }
    for (StartedRank& rank : ranks_) rank.words.pass_on();
    if (asked && first_failed_) return kSignalExitBase + *asked;
    return first_failed_ ? *ranks_[*first_failed_].status : 0;
  }

 private:
  /// For ranks that are asked to end, before they are killed.
  static constexpr std::chrono::seconds kGrace{1};

  void start(const LocalPlace& place) {
    std::array<int, 2> ends{-1, -1};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipes");
    const Descriptor writing(ends[1]);
    RankWords words(place.rank, Descriptor(ends[0]));
    Environment environment = current_environment();
    environment[protocol::kRankVariable] = text_of(place);
    const std::vector<std::string> variables = assignments_of(environment);
    const std::vector<char*> line = exec_array(command_);
    const std::vector<char*> array = exec_array(variables);
    const pid_t own = ::getpid();
    const pid_t process = ::fork();
    if (process < 0) fail("fork");
    if (process == 0) become(place, writing, line, array, own);
    ranks_.push_back({process, std::move(words)});
  }

  /// Becomes the rank, in a process of its own.
  [[noreturn]] void become(const LocalPlace& place, const Descriptor& standard_error,
                           const std::vector<char*>& line, const std::vector<char*>& environment,
                           pid_t starter) const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != starter) ::_exit(kSignalExitBase + SIGKILL);
    if (place.rank > 0) {
      const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      ::dup2(nothing, STDIN_FILENO);
    }
    ::dup2(standard_error.get(), STDERR_FILENO);
    ::fcntl(place.memory, F_SETFD, 0);
    for (const int socket : place.sockets) ::fcntl(socket, F_SETFD, 0);
    signals_.restore();
    ::execve(line.front(), line.data(), environment.data());
    print_message(stderr,
                  fmt::format("linkgain-bench: rank {}: '{}' cannot be started: {}\n", place.rank,
                              line.front(), std::generic_category().message(errno)));
    constexpr int kNotExecutable = 126;
    ::_exit(kNotExecutable);
  }

  bool have_ended() const {
    return std::ranges::all_of(ranks_,
                               [](const StartedRank& rank) { return rank.status.has_value(); });
  }

  /// Waits for words, a signal or the end of a rank, a tenth of a second at most, and passes words
  /// on.
  void wait_for_news() {
    std::vector<pollfd> awaited{{signals_.descriptor(), POLLIN, 0}};
    for (const StartedRank& rank : ranks_) awaited.push_back({rank.words.descriptor(), POLLIN, 0});
    constexpr int kMilliseconds = 100;
    ::poll(awaited.data(), awaited.size(), kMilliseconds);
    for (StartedRank& rank : ranks_) rank.words.pass_on();
  }

  void take_ends() {
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      StartedRank& rank = ranks_[i];
      int status = 0;
      if (rank.status || ::waitpid(rank.process, &status, WNOHANG) != rank.process) continue;
      const bool by_signal = WIFSIGNALED(status);
      rank.status = by_signal ? kSignalExitBase + WTERMSIG(status) : WEXITSTATUS(status);
      if (*rank.status == 0 || first_failed_) continue;
      first_failed_ = i;
      rank.words.pass_on();
      if (by_signal && !asked_to_end_)
        print_message(stderr, fmt::format("linkgain-bench: rank {} was ended by {}\n", i,
                                          signal_name(WTERMSIG(status))));
    }
  }

  /// Sends the ranks that have not ended a signal; one that is stopped gets it once it goes on.
  void end(int signal) {
    asked_to_end_ = true;
    for (const StartedRank& rank : ranks_) {
      if (rank.status) continue;
      ::kill(rank.process, signal);
      ::kill(rank.process, SIGCONT);
    }
  }

  std::vector<std::string> command_;
  Signals signals_;
  Descriptor memory_;
  std::vector<StartedRank> ranks_;
  std::optional<std::size_t> first_failed_;
  bool asked_to_end_ = false;
};

}  // namespace

std::string text_of(const LocalPlace& place) {
  return fmt::format("{}/{} {} {}", place.rank, place.ranks, place.memory,
                     fmt::join(place.sockets, " "));
}

std::optional<LocalPlace> local_place() {
  const char* const text = std::getenv(protocol::kRankVariable);
  if (text == nullptr) return std::nullopt;
  std::vector<std::string> words = split(text, ' ');
  if (words.empty()) words.emplace_back("none");
  const std::vector<std::string> numbers = split(words.front(), '/');
  const auto number = [](const std::string& word) { return whole_number<int>(word).value_or(-1); };
  LocalPlace place{number(numbers.front()), number(numbers.back()), -1, {}};
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (i == 1) place.memory = number(words[i]);
    if (i > 1) place.sockets.push_back(number(words[i]));
  }
  const auto is_memory = [&](int file) {
    struct stat entry {};
    return ::fstat(file, &entry) == 0 && S_ISREG(entry.st_mode) &&
           entry.st_size == static_cast<off_t>(meeting_bytes(place.ranks));
  };
  const std::size_t sockets = place.rank == 0 ? static_cast<std::size_t>(place.ranks) - 1 : 1;
  const bool possible =
      place.rank >= 0 && place.rank < place.ranks && place.sockets.size() == sockets;
  const auto is_open = [](int file) { return ::fcntl(file, F_GETFD) >= 0; };
  if (possible && is_memory(place.memory) && std::ranges::all_of(place.sockets, is_open))
    return place;
  throw MachineError(
      fmt::format("{}={} names no place that this process has", protocol::kRankVariable, text),
      fmt::format("unset {}: linkgain-bench sets it for the ranks that it starts",
                  protocol::kRankVariable));
}

int start_local_ranks(int ranks, const std::vector<std::string>& command) {
  return LocalJob(ranks, command).status();
}

}  // namespace linkgain

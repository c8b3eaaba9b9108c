#include "linkgain/process/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <random>

#include "linkgain/base/errors.hpp"
#include "spawn.hpp"

namespace linkgain {
namespace {

/// How often a silent program is checked to be still there.
constexpr int kLookMilliseconds = 200;
/// How often a program that is expected to end is checked to have done so.
constexpr int kReapMilliseconds = 2;
constexpr Seconds kGraceOfDestructor{2.0};
constexpr Seconds kKillLimit{5.0};

std::string unique_marker() {
  std::random_device random;
  return fmt::format("{}={}-{:08x}{:08x}", kJobMarker, getpid(), random(), random());
}

std::vector<std::string> assignments(const Environment& environment, const std::string& marker) {
  std::vector<std::string> result{marker};
  for (const auto& [name, value] : environment) {
    if (name != kJobMarker) result.push_back(fmt::format("{}={}", name, value));
  }
  return result;
}

Descriptor open_error_file(const std::filesystem::path& path) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file) {
    throw UsageError(fmt::format("cannot write {}: {}", path.string(), std::strerror(errno)));
  }
  return file;
}

void make_nonblocking(const Descriptor& descriptor) {
  fcntl(descriptor.get(), F_SETFL, fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
}

/// Sleeps for a moment, or until a signal was caught, which it throws.
void pause(int milliseconds, const SignalWatch* watch) {
  pollfd entry{watch != nullptr ? watch->descriptor() : -1, POLLIN, 0};
  poll(&entry, 1, milliseconds);
  if (watch != nullptr) watch->throw_if_caught();
}

ProcessEnd end_from(int wait_status) {
  if (WIFSIGNALED(wait_status)) return {.status = {}, .signal_number = WTERMSIG(wait_status)};
  return {.status = WEXITSTATUS(wait_status), .signal_number = {}};
}

}  // namespace

std::string describe(const ProcessEnd& end) {
  if (end.signal_number) return signal_name(*end.signal_number);
  if (end.status) return fmt::format("exit status {}", *end.status);
  return "exit status unknown";
}

Process::Process(const ProcessRequest& request) : marker_(unique_marker()), tree_(marker_) {
  const Descriptor error = open_error_file(request.error_file);
  Pipe to_program = make_pipe();
  Pipe from_program = make_pipe();
  make_nonblocking(to_program.writing);
  make_nonblocking(from_program.reading);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  id_ = spawn(request.arguments, assignments(request.environment, marker_),
              {to_program.reading.get(), from_program.writing.get(), error.get()});
  tree_.set_session(id_);
  input_ = std::move(to_program.writing);
  output_ = std::move(from_program.reading);
}

Process::~Process() {
  if (tree_ended_) return;
  try {
    end_tree(kGraceOfDestructor);
  } catch (...) {
    // Only memory or descriptors can have run out; the program itself must not stay in any case.
    if (unreaped()) kill(id_, SIGKILL);
  }
}

bool Process::wait_ready(const Descriptor& descriptor, short events, const Deadline& deadline,
                         const SignalWatch* watch) const {
  std::array<pollfd, 2> entries{
      {{descriptor.get(), events, 0}, {watch != nullptr ? watch->descriptor() : -1, POLLIN, 0}}};
  poll(entries.data(), entries.size(), deadline.remaining_milliseconds(kLookMilliseconds));
  if (watch != nullptr) watch->throw_if_caught();
  return entries[0].revents != 0;
}

Transfer Process::write_line(std::string_view line, Seconds deadline, const SignalWatch* watch) {
  const Deadline end(deadline);
  const std::string text = std::string(line) + '\n';
  std::size_t written = 0;
  while (input_ && written < text.size()) {
    const ssize_t count = write(input_.get(), text.data() + written, text.size() - written);
    if (count >= 0) {
      written += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      if (end.passed()) return Transfer::timed_out;
      wait_ready(input_, POLLOUT, end, watch);
    } else if (errno != EINTR) {
      input_.reset();
    }
  }
  return input_ ? Transfer::done : Transfer::ended;
}

std::optional<std::string> Process::take_line() {
  const std::size_t newline = unread_.find('\n', searched_);
  if (newline == std::string::npos) {
    searched_ = unread_.size();
    return std::nullopt;
  }
  std::string line = unread_.substr(0, newline);
  unread_.erase(0, newline + 1);
  searched_ = 0;
  return line;
}

/// Reads what is there: `timed_out` when that is nothing, `ended` at the end of the stream.
Transfer Process::read_more() {
  std::array<char, 65536> chunk;
  const ssize_t count = output_ ? read(output_.get(), chunk.data(), chunk.size()) : 0;
  if (count > 0) {
    unread_.append(chunk.data(), static_cast<std::size_t>(count));
    return Transfer::done;
  }
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return Transfer::timed_out;
  output_.reset();
  return Transfer::ended;
}

ReadResult Process::read_line(Seconds deadline, const SignalWatch* watch) {
  const Deadline end(deadline);
  bool gone = false;  // then a look into the pipe decides, since the last words may still be there
  while (true) {
    if (auto line = take_line()) return {Transfer::done, std::move(*line)};
    const Transfer transfer = read_more();
    if (transfer == Transfer::done) continue;
    if (transfer == Transfer::ended || gone) {
      searched_ = 0;
      return {Transfer::ended, std::exchange(unread_, {})};
    }
    if (end.passed()) return {Transfer::timed_out, {}};
    const bool ready = wait_ready(output_, POLLIN, end, watch);
    gone = !ready && !running();
  }
}

bool Process::try_reap() {
  if (end_) return true;
  int wait_status = 0;
  const pid_t reaped = waitpid(id_, &wait_status, WNOHANG);
  if (reaped == id_) end_ = end_from(wait_status);
  if (reaped < 0 && errno == ECHILD) end_ = ProcessEnd{};
  return end_.has_value();
}

std::optional<pid_t> Process::unreaped() const {
  return end_ ? std::nullopt : std::optional<pid_t>(id_);
}

std::optional<ProcessEnd> Process::wait(Seconds deadline, const SignalWatch* watch) {
  const Deadline end(deadline);
  while (!try_reap() && !end.passed()) {
    pause(end.remaining_milliseconds(kReapMilliseconds), watch);
  }
  return end_;
}

std::vector<pid_t> Process::end_tree(Seconds grace) {
  input_.reset();
  remember_tree();
  if (running()) {
    kill(id_, SIGTERM);
    kill(id_, SIGCONT);
    wait(grace);
  }
  std::vector<pid_t> survivors = kill_tree();
  tree_ended_ = true;
  return survivors;
}

std::vector<pid_t> Process::kill_tree() {
  const Deadline limit(kKillLimit);
  while (true) {
    try_reap();
    const std::vector<ProcessEntry> members = tree_.find(unreaped());
    if (members.empty()) return {};
    std::vector<pid_t> ids;
    for (const ProcessEntry& member : members) {
      ids.push_back(member.id);
      kill(member.id, SIGKILL);
      if (member.parent == getpid() && member.id != id_) waitpid(member.id, nullptr, WNOHANG);
    }
    if (limit.passed()) return ids;
    pause(kReapMilliseconds, nullptr);
  }
}

}  // namespace linkgain

#include "linkgain/process/job_reaper.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "linkgain/base/text.hpp"
#include "linkgain/process/process.hpp"

namespace linkgain {
namespace {

/// How often the program's descendants are noted.
constexpr std::chrono::milliseconds kBetweenNotes{1000};
constexpr std::chrono::milliseconds kBetweenLooks{200};
/// A job that was just being started has no environment of its own yet.
constexpr Seconds kToBegin{1.0};
/// Who outlives SIGKILL for so long is asleep in a driver.
constexpr Seconds kToDie{5.0};
/// The one character that no folder has in its name.
constexpr char kNameEnd = '\0';

/// Reads all that the program writes until it has ended; meanwhile notes what descends from it
/// where `program` is its id. Throws std::system_error.
std::string read_to_end(int descriptor, std::optional<pid_t> program, ProcessTree& jobs) {
  const std::optional<ProcessEntry> self = read_process(::getpid());
  const int timeout = program ? static_cast<int>(kBetweenNotes.count()) : -1;
  std::string text;
  std::array<char, 4096> chunk;
  pollfd entry{descriptor, POLLIN, 0};
  for (;;) {
    const int ready = ::poll(&entry, 1, timeout);
    if (program && self) jobs.note_descendants(*program, self->start);
    const ssize_t count = ready > 0 ? ::read(descriptor, chunk.data(), chunk.size()) : ready;
    if (ready > 0 && count == 0) return text;
    if (count > 0) text.append(chunk.data(), static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) throw std::system_error(errno, std::generic_category());
  }
}

void signal_all(ProcessTree& jobs, int number) {
  for (const ProcessEntry& each : jobs.find({})) ::kill(each.id, number);
}

/// Waits for the jobs' end; false if some are left.
bool have_ended(ProcessTree& jobs, Seconds limit) {
  const Deadline deadline(limit);
  while (!jobs.find({}).empty()) {
    if (deadline.passed()) return false;
    std::this_thread::sleep_for(kBetweenLooks);
  }
  return true;
}

void end_all(ProcessTree& jobs, Seconds grace, int first_signal) {
  std::this_thread::sleep_for(std::chrono::duration<double>(kToBegin.value));
  signal_all(jobs, first_signal);
  if (have_ended(jobs, grace)) return;
  const Deadline limit(kToDie);
  do {  // again, as they may start others
    signal_all(jobs, SIGKILL);
  } while (!have_ended(jobs, Seconds{0.2}) && !limit.passed());
}

/// Throws where it is not known whether the program lives, or no memory is left.
void reap(int told, std::optional<pid_t> program, Seconds grace, int first_signal) {
  ProcessTree jobs(fmt::format("{}={}", kJobMarker, marker_of_program()));
  const std::vector<std::string> folders = split(read_to_end(told, program, jobs), kNameEnd);
  end_all(jobs, grace, first_signal);
  std::error_code ignored;
  for (const std::string& folder : folders) {
    if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
  }
}

using Clock = ExitClock::Clock;

/// Takes no memory: another thread of the program may have been at that when this process began.
void note_exit(int watched, int noted) {
  pid_t id = -1;
  if (::read(watched, &id, sizeof id) != sizeof id) return;
  const int program = static_cast<int>(::syscall(SYS_pidfd_open, id, 0));
  pollfd entry{program, POLLIN, 0};
  if (program < 0 || ::poll(&entry, 1, -1) != 1) return;
  const Clock::time_point exited = Clock::now();
  [[maybe_unused]] const ssize_t written = ::write(noted, &exited, sizeof exited);
}

}  // namespace

JobReaper::JobReaper(Seconds grace, int first_signal, Unmarked unmarked) {
  Pipe pipe = make_pipe();
  ::fcntl(pipe.writing.get(), F_SETFL, O_NONBLOCK);  // a reaper that is stopped holds nobody up
  marker_of_program();                               // the same in both
  const auto program = unmarked == Unmarked::none ? std::nullopt : std::optional(::getpid());
  process_.emplace("linkgain-reaper", std::set<int>{pipe.reading.get()},
                   [&] { reap(pipe.reading.get(), program, grace, first_signal); });
  told_ = std::move(pipe.writing);
}

void JobReaper::remember(const std::filesystem::path& folder) {
  const std::string name = folder.string() + kNameEnd;
  [[maybe_unused]] const ssize_t written = ::write(told_.get(), name.data(), name.size());
}

ExitClock::ExitClock() {
  Pipe watched = make_pipe();
  Pipe noted = make_pipe();
  ::fcntl(noted.reading.get(), F_SETFL, O_NONBLOCK);
  process_.emplace("linkgain-clock", std::set<int>{watched.reading.get(), noted.writing.get()},
                   [&] { note_exit(watched.reading.get(), noted.writing.get()); });
  watched_ = std::move(watched.writing);
  noted_ = std::move(noted.reading);
}

void ExitClock::watch(pid_t id) {
  [[maybe_unused]] const ssize_t written = ::write(watched_.get(), &id, sizeof id);
}

Clock::time_point ExitClock::exited_or_now() {
  const Clock::time_point now = Clock::now();
  Clock::time_point exited = now;
  if (!exited_ && ::read(noted_.get(), &exited, sizeof exited) == sizeof exited) exited_ = exited;
  return std::min(now, exited_.value_or(now));
}

}  // namespace linkgain

#include "linkgain/process/exit_clock.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "linkgain/process/process.hpp"

namespace linkgain {
namespace {

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

#include "linkgain/process/signals.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <system_error>

#include "linkgain/base/process_entry.hpp"

namespace linkgain {
namespace {

/// Batch systems send the last four before they end a job.
constexpr std::array kWatched{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGXCPU};

/// What the handler may touch. Handlers belong to the process and take no argument of ours.
struct HandlersState {
  std::array<std::atomic<bool>, kWatched.size()> caught{};
  std::atomic<int> wake = -1;  ///< an eventfd
};
HandlersState handlers_state;
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

/// Notes the signal, in whichever thread the system chose, in the middle of anything.
void note(int signal_number) {
  const int error_before = errno;
  for (std::size_t i = 0; i < kWatched.size(); ++i) {
    if (kWatched[i] == signal_number) handlers_state.caught[i] = true;
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(handlers_state.wake, &one, sizeof one);
  errno = error_before;
}

void forget_caught() {
  for (std::atomic<bool>& each : handlers_state.caught) each = false;
}

Descriptor make_event() {
  Descriptor event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (event) return event;
  throw MachineError(fmt::format("cannot watch for signals: {}", std::strerror(errno)));
}

/// Returns whether it is readable within so many milliseconds; those of a signal's handler count
/// anew.
bool is_told(const Descriptor& event, int milliseconds) {
  pollfd entry{event.get(), POLLIN, 0};
  int ready = -1;
  while (ready < 0) ready = poll(&entry, 1, milliseconds);
  return ready > 0;
}

bool is_ignored(int signal_number) {
  struct sigaction action {};
  return sigaction(signal_number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

Interrupted::Interrupted(int signal_number)
    : Error(fmt::format("interrupted by {}", signal_name(signal_number)), {}, ExitCode::incomplete),
      signal_number_(signal_number) {}

SignalWatch::SignalWatch() try : descriptor_(make_event()), stopping_(make_event()) {
  wake_before_ = handlers_state.wake.exchange(descriptor_.get());
  struct sigaction handle {};
  handle.sa_handler = note;
  handle.sa_flags = SA_RESTART;
  sigemptyset(&watched_);
  for (const int signal_number : kWatched) {
    if (is_ignored(signal_number)) continue;
    actions_before_.emplace_back(signal_number);
    sigaction(signal_number, &handle, &actions_before_.back().action);
    sigaddset(&watched_, signal_number);
  }
  pthread_sigmask(SIG_BLOCK, &watched_, &mask_before_);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  actions_before_.emplace_back(SIGPIPE);
  sigaction(SIGPIPE, &ignore, &actions_before_.back().action);
  thread_ = std::thread([this] { take_signals(); });
} catch (const std::system_error& error) {
  throw MachineError(fmt::format("cannot watch for signals: {}", error.what()));
}

SignalWatch::~SignalWatch() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(stopping_.get(), &one, sizeof one);
  thread_.join();
  const timespec at_once{};
  while (sigtimedwait(&watched_, nullptr, &at_once) > 0) {
  }
  for (const ActionBefore& each : actions_before_) {
    sigaction(each.signal_number, &each.action, nullptr);
  }
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  handlers_state.wake = wake_before_;
  forget_caught();
}

/// Takes signals that wait for this process: the handler runs in this thread.
void SignalWatch::take_signals() const {
  pthread_sigmask(SIG_UNBLOCK, &watched_, nullptr);
  std::array<pollfd, 2> entries{{{stopping_.get(), POLLIN, 0}, {descriptor_.get(), POLLIN, 0}}};
  while (poll(entries.data(), entries.size(), -1) < 0) {
  }
  if (is_told(stopping_, static_cast<int>(kToEnd.value * 1e3))) return;
  struct sigaction end {};
  end.sa_handler = SIG_DFL;
  for (const int signal_number : {SIGINT, SIGTERM}) {
    if (sigismember(&watched_, signal_number) == 1) sigaction(signal_number, &end, nullptr);
  }
  is_told(stopping_, -1);
}

std::optional<int> SignalWatch::caught() const {
  for (std::size_t i = 0; i < kWatched.size(); ++i) {
    if (handlers_state.caught[i]) return kWatched[i];
  }
  return std::nullopt;
}

void SignalWatch::throw_if_caught() const {
  if (const std::optional<int> signal_number = caught()) throw Interrupted(*signal_number);
}

}  // namespace linkgain

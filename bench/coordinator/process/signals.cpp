#include "linkgain/process/signals.hpp"

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace linkgain {
namespace {

constexpr std::array kWatched{SIGINT, SIGTERM, SIGHUP};

bool is_ignored(int signal_number) {
  struct sigaction action {};
  return sigaction(signal_number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

std::string signal_name(int signal_number) {
  const char* name = sigabbrev_np(signal_number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal_number);
}

Interrupted::Interrupted(int signal_number)
    : Error(fmt::format("interrupted by {}", signal_name(signal_number)), {}, ExitCode::incomplete),
      signal_number_(signal_number) {}

SignalWatch::SignalWatch() {
  sigemptyset(&watched_);
  for (const int signal_number : kWatched) {
    if (!is_ignored(signal_number)) sigaddset(&watched_, signal_number);
  }
  descriptor_ = Descriptor(signalfd(-1, &watched_, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor_) {
    throw MachineError(fmt::format("cannot watch for signals: {}", std::strerror(errno)));
  }
  pthread_sigmask(SIG_BLOCK, &watched_, &mask_before_);
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGPIPE, &ignore, &pipe_before_);
}

SignalWatch::~SignalWatch() {
  signalfd_siginfo taken{};
  while (read(descriptor_.get(), &taken, sizeof taken) == sizeof taken) {
  }
  sigaction(SIGPIPE, &pipe_before_, nullptr);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

std::optional<int> SignalWatch::caught() const {
  sigset_t pending;
  sigpending(&pending);
  for (const int signal_number : kWatched) {
    if (sigismember(&watched_, signal_number) == 1 && sigismember(&pending, signal_number) == 1) {
      return signal_number;
    }
  }
  return std::nullopt;
}

void SignalWatch::throw_if_caught() const {
  if (const std::optional<int> signal_number = caught()) throw Interrupted(*signal_number);
}

}  // namespace linkgain

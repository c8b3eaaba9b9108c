#pragma once

#include <csignal>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "linkgain/base/descriptor.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {

/// A signal asked the program to stop. A program that ends because of it exits with
/// kSignalExitBase + signal_number() instead of exit_code().
class Interrupted : public Error {
 public:
  explicit Interrupted(int signal_number);
  int signal_number() const noexcept { return signal_number_; }

 private:
  int signal_number_;
};

/// While one is alive, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM and SIGXCPU are
/// noticed instead of ending the program, whichever of its threads they reach, libraries' own
/// included; and SIGPIPE is ignored, so that writing to a dead job is an error and not the end. A
/// signal that was ignored before (nohup, a shell's background job) stays ignored. The destructor
/// restores what it found and discards what was caught: last one first, in the thread that made it.
///
/// A thread of its own takes the signals, for the one that made it may be in a write that never
/// returns, as to a server of files that hangs. kToEnd after the first signal SIGINT and SIGTERM
/// have their default action again: another one ends the program, whatever it waits for.
class SignalWatch {
 public:
  /// GNU timeout sends its signal twice, at once.
  static constexpr Seconds kToEnd{1.0};

  /// Throws MachineError where the system refuses.
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  /// Returns what poll() finds readable from the first caught signal on; not to be read from.
  int descriptor() const noexcept { return descriptor_.get(); }

  /// Returns the caught signal; of several the one that asks most politely.
  std::optional<int> caught() const;

  /// Throws Interrupted if one was caught.
  void throw_if_caught() const;

 private:
  struct ActionBefore {
    explicit ActionBefore(int number) : signal_number(number) {}
    int signal_number;
    struct sigaction action {};
  };

  void take_signals() const;

  Descriptor descriptor_;
  Descriptor stopping_;
  int wake_before_ = -1;  ///< descriptor of the watch around this one
  std::vector<ActionBefore> actions_before_;
  sigset_t watched_{};
  sigset_t mask_before_{};
  std::thread thread_;
};

}  // namespace linkgain

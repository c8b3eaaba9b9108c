#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>

#include "linkgain/base/descriptor.hpp"
#include "linkgain/base/helper_process.hpp"

namespace linkgain {

/// When a program exited, also where this one was stopped then or got no processor: a process
/// beside it waits for the same, for the kernel keeps no such time. SIGPIPE must be ignored, as for
/// Process.
class ExitClock {
 public:
  using Clock = std::chrono::steady_clock;

  /// Throws MachineError where no descriptor is left.
  ExitClock();

  /// Watches one program: a child of this one that has not been reaped.
  void watch(pid_t id);

  /// Returns when it exited, if the process beside this one saw that first; else now.
  Clock::time_point exited_or_now();

 private:
  Descriptor watched_;
  Descriptor noted_;
  std::optional<Clock::time_point> exited_;
  std::optional<HelperProcess> process_;
};

}  // namespace linkgain

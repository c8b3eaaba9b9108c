#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>

#include "linkgain/base/descriptor.hpp"
#include "linkgain/base/helper_process.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {

/// Processes of jobs that have no kJobMarker, as they cleared their environment.
enum class Unmarked {
  none,       ///< there are none
  are_ended,  ///< told by their descent, which the reaper notes once a second
};

/// A process beside this program that outlives it where SIGKILL ends it. It then gives what this
/// program started `grace` to end, kills what still runs, and removes the folders that it was told
/// of. It knows a process by kJobMarker.
class JobReaper {
 public:
  /// Starts the program that outlives this one: `first_signal` asks what is left to end; 0 for jobs
  /// that see it at the end of their input. Throws MachineError where no descriptor is left.
  explicit JobReaper(Seconds grace, int first_signal = 0, Unmarked unmarked = Unmarked::none);
  /// Remembers a folder that goes with the jobs. SIGPIPE must be ignored, as for Process.
  void remember(const std::filesystem::path& folder);

 private:
  Descriptor told_;
  std::optional<HelperProcess> process_;  ///< whose program ends by itself has ended its jobs
};

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

#pragma once

#include <sys/types.h>

#include <filesystem>

#include "linkgain/base/descriptor.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {

/// A process beside this program, in a process group of its own, that outlives it where SIGKILL
/// ends it. It then gives what this program started, told by kJobMarker, `grace` to end, kills what
/// still runs, and removes the folders that it was told of. No other signal ends it, and it does
/// nothing while this program is stopped. There is none where the system has no room for another
/// process.
class JobReaper {
 public:
  /// `first_signal` asks what is left to end; 0 for jobs that see it at the end of their input.
  /// Throws MachineError where no descriptor is left.
  explicit JobReaper(Seconds grace, int first_signal = 0);
  ~JobReaper();
  JobReaper(const JobReaper&) = delete;
  JobReaper& operator=(const JobReaper&) = delete;

  /// A folder that goes with the jobs. SIGPIPE must be ignored, as for Process.
  void remember(const std::filesystem::path& folder);

 private:
  Descriptor told_;
  pid_t id_ = -1;
};

}  // namespace linkgain

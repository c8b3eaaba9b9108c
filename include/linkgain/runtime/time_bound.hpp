#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "linkgain/base/units.hpp"

namespace linkgain {

/// Ends this process where a step lasts too long that no Watchdog can see, as it needs a Session:
/// the start and the end of MPI, in which a rank waits for the others, and what is asked of the
/// GPUs without MPI. It then says on standard error what was too long, and leaves with status 6,
/// upon which the launcher ends the other ranks.
class TimeBound {
 public:
  /// Bounds the time for as long as it lives; there is no bound if `limit` is 0.
  TimeBound(std::string what, Seconds limit);

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;
};

/// Returns the rank that the launcher gave this process, before MPI can tell; absent without a
/// launcher.
std::optional<int> launched_rank();

}  // namespace linkgain

#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "linkgain/base/units.hpp"

namespace linkgain {

/// Ends this process where a call into the driver's library does not come back, as after some
/// faults of a GPU: it would wait for ever, deaf to signals. It says on standard error which call
/// it was and leaves with status 3. Jobs end with it, and a run's journal is on the disk.
class DriverWatch {
 public:
  /// Far more than the driver takes to wake all GPUs of a node.
  static constexpr Seconds kLimit{60.0};

  /// A call that is under way while this lives; from any thread. `function` outlives it.
  class Call {
   public:
    Call(DriverWatch& watch, const char* function);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    friend class DriverWatch;
    DriverWatch& watch_;
    const char* function_;
    std::chrono::steady_clock::time_point start_;
  };

  /// Begins to watch; nothing is watched if this process may start no thread.
  explicit DriverWatch(Seconds limit);

 private:
  void look(const std::stop_token& stop);

  Seconds limit_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<const Call*> calls_;
  std::jthread thread_;
};

}  // namespace linkgain

#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "linkgain/base/units.hpp"

namespace linkgain {

/// Has NCCL read NCCL_DEBUG, NCCL_DEBUG_SUBSYS and NCCL_DEBUG_FILE again and open that file anew.
using LogSwitch = void (*)();

/// What NCCL logged during a stretch of work.
struct LoggedCalls {
  std::string text;
  Seconds cost{};  ///< of switching and reading, without the work
};

/// Switches this process's TUNING log on for a stretch of work and off again, because that log
/// slows every call down. NCCL must log into a file (NCCL_DEBUG_FILE); from the first stretch on it
/// logs into FILE.now, which it empties at every switch, so what stood there is appended to
/// FILE.kept before. Not for two threads at once: it changes the environment.
class CallLog {
 public:
  /// Watches NCCL's log of calls. A null switch, an environment without NCCL_DEBUG_FILE, or files
  /// that have those names already make a log that watches nothing.
  explicit CallLog(LogSwitch log_switch);

  /// Does `work`, in any case, during which no other thread may call NCCL; what it logged, absent
  /// where nothing can be watched.
  std::optional<LoggedCalls> watch(const std::function<void()>& work) const;

 private:
  std::string turn(bool calls_logged) const;

  LogSwitch log_switch_;
  std::filesystem::path now_;  ///< empty: nothing can be watched
  std::filesystem::path kept_;
};

/// Expands NCCL_DEBUG_FILE with its %h (host up to the first dot), %p (process) and %% as NCCL
/// does.
std::string expand_log_pattern(const std::string& pattern, const std::string& host, int process);

}  // namespace linkgain

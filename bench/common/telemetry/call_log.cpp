#include "linkgain/telemetry/call_log.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <system_error>

#include "linkgain/base/regular_file.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {
namespace {

using Clock = std::chrono::steady_clock;

Seconds since(Clock::time_point start) {
  return Seconds{std::chrono::duration<double>(Clock::now() - start).count()};
}

}  // namespace

std::string expand_log_pattern(const std::string& pattern, const std::string& host, int process) {
  std::string text;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%' || i + 1 == pattern.size()) {
      text += pattern[i];
      continue;
    }
    const char kind = pattern[++i];
    if (kind == 'h') {
      text += host.substr(0, host.find('.'));
    } else if (kind == 'p') {
      text += std::to_string(process);
    } else {
      text += kind == '%' ? std::string("%") : std::string("%") + kind;
    }
  }
  return text;
}

CallLog::CallLog(LogSwitch log_switch) : log_switch_(log_switch) {
  const char* pattern = std::getenv("NCCL_DEBUG_FILE");
  if (log_switch_ == nullptr || pattern == nullptr || *pattern == '\0') return;
  const std::string own = expand_log_pattern(pattern, host_name(), ::getpid());
  std::error_code unknown;
  for (const char* const ending : {".now", ".kept"}) {
    if (std::filesystem::exists(std::filesystem::symlink_status(own + ending, unknown))) return;
  }
  now_ = own + ".now";
  kept_ = own + ".kept";
}

std::optional<LoggedCalls> CallLog::watch(const std::function<void()>& work) const {
  if (now_.empty()) {
    work();
    return std::nullopt;
  }
  const Clock::time_point start = Clock::now();
  turn(true);
  const Clock::time_point before_work = Clock::now();
  work();
  const Seconds worked = since(before_work);
  LoggedCalls logged;
  logged.text = turn(false);
  logged.cost = Seconds{since(start).value - worked.value};
  return logged;
}

/// Returns what was logged since the last turn.
std::string CallLog::turn(bool calls_logged) const {
  std::string text = read_regular_file(now_).value_or("");
  std::ofstream(kept_, std::ios::binary | std::ios::app) << text;
  // NCCL opens its file at its next line only, which may be long after the next turn.
  std::error_code missing;
  std::filesystem::resize_file(now_, 0, missing);
  ::setenv("NCCL_DEBUG_FILE", now_.c_str(), 1);
  ::setenv("NCCL_DEBUG_SUBSYS", calls_logged ? "INIT,ENV,TUNING" : "INIT,ENV", 1);
  log_switch_();
  return text;
}

}  // namespace linkgain

#pragma once

#include <stdexcept>
#include <string>

namespace linkgain {

/// Exit statuses of both programs; docs/reference.md and each command's --help list them.
enum class ExitCode : int {
  success = 0,
  problem_found = 1,
  usage = 2,
  machine_cannot = 3,
  wrong_data = 4,
  wrong_path = 5,
  incomplete = 6,
  inconclusive = 7,
  unhealthy = 8,
};

/// Added to a signal's number when a run was ended by it.
inline constexpr int kSignalExitBase = 128;

/// Base of every error that linkgain raises itself: what happened, what to do about it, and the
/// exit status a program ends with when nothing handles it.
class Error : public std::runtime_error {
 public:
  Error(const std::string& text, std::string advice, ExitCode exit_code)
      : std::runtime_error(text), advice_(std::move(advice)), exit_code_(exit_code) {}

  /// Returns what the reader can do about it; may be empty.
  const std::string& advice() const noexcept { return advice_; }
  ExitCode exit_code() const noexcept { return exit_code_; }

 private:
  std::string advice_;
  ExitCode exit_code_;
};

/// The request itself is wrong: bad option, size, name or unreadable input.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& text, std::string advice = {})
      : Error(text, std::move(advice), ExitCode::usage) {}
};

/// The request is fine but this machine, build or library cannot carry it out.
class MachineError : public Error {
 public:
  explicit MachineError(const std::string& text, std::string advice = {})
      : Error(text, std::move(advice), ExitCode::machine_cannot) {}
};

}  // namespace linkgain

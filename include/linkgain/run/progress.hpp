#pragma once

#include <cstdio>
#include <string>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// Tells a person on standard error how far a run is: one line that changes on a terminal, a line
/// for each finished case elsewhere, nothing when quiet. Every line also goes to the run's log.
class Progress {
 public:
  /// `log` may be null; it is not owned.
  Progress(bool terminal, bool quiet, std::FILE* log);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// A line that stays.
  void note(const std::string& text);
  /// `step` of `steps` cases (launches counted in) is being measured; left: seconds, negative when
  /// unknown.
  void measuring(int step, int steps, const Case& c, int round, double seconds_left);
  void finished(int step, int steps, const CaseResult& result);

 private:
  void clear_line();

  bool terminal_;
  bool quiet_;
  std::FILE* log_;
  bool line_open_ = false;
};

/// "p2p 14.90 us, host 64.20 us, 4.310x (4.300x to 4.330x) in 20 rounds"; the reason where a
/// variant was skipped.
std::string summary_of(const CaseResult& result);

}  // namespace linkgain

#pragma once

#include <string>

#include "linkgain/record/record.hpp"
#include "linkgain/run/pace.hpp"

namespace linkgain {

/// Who is told how far a run is. Nothing needs to be done with any of it.
class RunProgress {
 public:
  virtual ~RunProgress() = default;

  virtual void note(const std::string&) {}  ///< a line that stays
  virtual void starting(const RunPace&) {}  ///< jobs are being started
  /// Says that a case is being measured.
  virtual void measuring(const RunPace&, int /*launch*/, const Case&) {}
  virtual void finished(const RunPace&, int /*launch*/, const CaseResult&) {}
  virtual void waiting(const RunPace&) {}  ///< each second while a job works or starts
};

}  // namespace linkgain

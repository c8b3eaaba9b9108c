#pragma once

#include <optional>
#include <string>

#include "linkgain/base/units.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

class RunPace;

/// What a run tells whoever watches it, and asks of them. Nothing needs to be done with any of it.
class RunObserver {
 public:
  virtual ~RunObserver() = default;

  virtual Seconds now() const { return {}; }  ///< monotonic
  /// Returns the time since the run began, without that between its parts.
  virtual Seconds run_time() const { return {}; }
  virtual void note(const std::string&) {}  ///< a line for the person who waits
  virtual void warn(const Warning&) {}      ///< among others of every job that is lost
  /// Notes that what was measured from this sample on was beside others' work.
  virtual void disturbed_since(int /*sequence*/) {}
  /// Notes what looking took: asking a job for its algorithms, a reading of the links' counters,
  /// health.
  virtual void probing_took(Seconds /*time*/) {}
  /// Says that each variant is measured once more, or a part of a training.
  virtual void sampled(int /*launch*/, const Case&) {}
  virtual void counting_took(Seconds /*time*/) {}
  virtual void health_took(Seconds /*time*/) {}
  /// Notes what some of the run's time went into.
  virtual void spent(double TimeSpent::* /*what*/, Seconds /*time*/) {}
  virtual void worked() {}  ///< a job, until now
  /// Returns the time since then; nothing if none has.
  virtual std::optional<Seconds> rested() const { return std::nullopt; }
  /// Returns whether counting once more leaves the run's cost within bounds.
  virtual bool may_count_again() const { return true; }
  /// Returns whether no other batch is to begin.
  virtual bool out_of_budget() const { return false; }
};

/// Who is told how far a run is. Nothing needs to be done with any of it.
class RunProgress {
 public:
  virtual ~RunProgress() = default;

  virtual void note(const std::string&) {}  ///< a line that stays
  virtual void starting(const RunPace&) {}  ///< jobs are being started
  virtual void measuring(const RunPace&, int /*launch*/, const Case&) {}
  virtual void finished(const RunPace&, int /*launch*/, const CaseResult&) {}
  virtual void waiting(const RunPace&) {}  ///< each second while a job works or starts
};

}  // namespace linkgain

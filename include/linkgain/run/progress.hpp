#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/record/record.hpp"
#include "linkgain/run/run_plan.hpp"

namespace linkgain {

/// What a run tells whoever watches it, and asks of them. Nothing needs to be done with any of it.
class RunObserver {
 public:
  virtual ~RunObserver() = default;

  virtual Seconds now() const { return {}; }  ///< monotonic
  virtual void note(const std::string&) {}    ///< a line for the person who waits
  virtual void warn(const Warning&) {}        ///< among others of every job that is lost
  /// What looking took: asking a job for its algorithms, a reading of the links' counters, health.
  virtual void probing_took(double /*seconds*/) {}
  virtual void counting_took(double /*seconds*/) {}
  virtual void health_took(double /*seconds*/) {}
  /// Whether counting once more leaves the run's cost within bounds.
  virtual bool may_count_again() const { return true; }
};

/// A budget that is too short lowers the launches no further than this: fewer give no interval
/// worth the name.
inline constexpr int kFewestLaunches = 3;

/// How far a run is, how many launches its budget holds, and what time is left. A step is one case
/// in one launch (and, run one after the other, of one variant).
class RunPace {
 public:
  /// Both must outlive it; time counts from now on.
  RunPace(const RunPlan& plan, const RunObserver& clock);

  double elapsed() const { return clock_.now().value - start_; }
  bool out_of_budget() const { return plan_.budget && seconds_of_budget_left() <= 0.0; }

  int launches() const { return launches_; }
  /// After the first launch, whose cases took `pass` seconds: lowers the launches to what the
  /// budget holds, where the jobs of `up` launches are up and starting those of more takes `start`
  /// seconds each time. Whether it did.
  bool lower_launches(double pass, double start, int up);
  /// Whether the budget holds a launch more of these cases, and the start of its jobs.
  bool holds(const std::vector<int>& cases, double start) const;
  /// Counts a launch more of these cases in.
  void add_launch(const std::vector<int>& cases);

  int step() const;
  int steps() const;
  /// Of the case with this index, in one launch.
  void finished(int case_index, double seconds);
  /// By what each case took so far; negative while nothing is known.
  double seconds_left() const;

 private:
  /// Finished and planned steps of a case, and the seconds spent on the finished ones.
  struct Spent {
    int steps = 0;
    int planned = 0;
    double seconds = 0.0;
  };

  void plan_steps();
  double seconds_of_budget_left() const { return plan_.budget->value - elapsed(); }
  /// A step of a case, where it or one like it was measured.
  std::optional<double> step_seconds(std::size_t index) const;

  const RunPlan& plan_;
  const RunObserver& clock_;
  double start_;
  int launches_;
  std::vector<Spent> cases_;
};

/// Tells a person on standard error how far a run is: one line that changes on a terminal, a line
/// for each finished case elsewhere, nothing when quiet. Every line also goes to the run's log.
/// What cannot be written is dropped.
class Progress {
 public:
  /// `log` may be null; it is not owned.
  Progress(bool terminal, bool quiet, std::FILE* log);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// A line that stays.
  void note(const std::string& text);
  /// A case is being measured.
  void measuring(const RunPace& pace, int launch, const Case& c);
  void finished(const RunPace& pace, int launch, const CaseResult& result);

 private:
  void clear_line();

  bool terminal_;
  bool quiet_;
  std::FILE* log_;
  bool line_open_ = false;
};

/// "p2p 14.90 us, host 64.20 us, 4.310x", so far; the reason where a variant was skipped.
std::string summary_of(const CaseResult& result);

}  // namespace linkgain

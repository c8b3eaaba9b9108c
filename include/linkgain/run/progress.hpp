#pragma once

#include <cstdio>
#include <string>

#include "linkgain/record/record.hpp"
#include "linkgain/run/run_plan.hpp"
#include "linkgain/statistics/ratio.hpp"

namespace linkgain {

/// What a run tells whoever watches it, and asks of them. Nothing needs to be done with any of it.
class RunObserver {
 public:
  virtual ~RunObserver() = default;

  virtual Seconds now() const { return {}; }  ///< monotonic
  virtual void note(const std::string&) {}    ///< a line for the person who waits
  virtual void warn(const Warning&) {}        ///< among others of every job that is lost
  virtual void round_finished(const Case&, int /*round*/) {}
  /// What looking took: asking a job for its algorithms, a reading of the links' counters, health.
  virtual void probing_took(double /*seconds*/) {}
  virtual void counting_took(double /*seconds*/) {}
  virtual void health_took(double /*seconds*/) {}
  /// Whether counting once more leaves the run's cost within bounds.
  virtual bool may_count_again() const { return true; }
};

/// How far a run is, what time its next case may take, and what is left. A step is one case in one
/// launch (and, run one after the other, of one variant).
class RunPace {
 public:
  /// Both must outlive it; time counts from now on.
  RunPace(const RunPlan& plan, const RunObserver& clock);

  double elapsed() const { return clock_.now().value - start_; }

  int step() const { return trainings_.steps + others_.steps; }
  int steps() const { return steps_; }
  /// Trainings take their own time: they neither use up nor leave any of the others'.
  void finished(const Case& c, double seconds);

  /// What earlier cases left of their time is there for later ones. A training has as many blocks
  /// as the plan's steps make, and few without communication, which nothing is held against.
  StoppingRule rule(const Case& c) const;
  bool out_of_budget() const;
  /// By the pace so far; negative while nothing is known.
  double seconds_left() const;

 private:
  StoppingRule training_rule(const Case& c) const;
  /// Of a case that is no training.
  Seconds usual_time() const;
  /// What a step may take so that all that are left get as much; only with a budget.
  Seconds budget_share() const;

  const RunPlan& plan_;
  const RunObserver& clock_;
  double start_;
  /// Finished steps and the seconds spent on them.
  struct Spent {
    int steps = 0;
    double seconds = 0.0;
  };

  Spent trainings_;
  Spent others_;
  int steps_;
  int training_steps_;  ///< of all steps
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

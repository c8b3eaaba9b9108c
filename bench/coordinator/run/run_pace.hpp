#pragma once

#include <functional>

#include "linkgain/run/run_plan.hpp"
#include "linkgain/statistics/ratio.hpp"

namespace linkgain {

/// How far a run is, what time its next case may take, and what is left. A step is one case in one
/// launch (and, run one after the other, of one variant).
class RunPace {
 public:
  /// The plan must outlive it; time counts from now on.
  RunPace(const RunPlan& plan, std::function<Seconds()> clock);

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
  double elapsed() const { return clock_().value - start_; }
  StoppingRule training_rule(const Case& c) const;
  /// Of a case that is no training.
  Seconds usual_time() const;
  /// What a step may take so that all that are left get as much; only with a budget.
  Seconds budget_share() const;

  const RunPlan& plan_;
  std::function<Seconds()> clock_;
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

}  // namespace linkgain

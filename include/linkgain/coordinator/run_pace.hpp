#pragma once

#include <functional>

#include "linkgain/coordinator/run_plan.hpp"
#include "linkgain/core/ratio.hpp"

namespace linkgain {

/// How far a run is, what time its next case may take, and what is left. A step is one case in one
/// launch (and, run one after the other, of one variant).
class RunPace {
 public:
  /// The plan must outlive it; time counts from now on.
  RunPace(const RunPlan& plan, std::function<Seconds()> clock);

  int step() const { return step_; }
  int steps() const { return steps_; }
  void finished(double seconds);

  /// What earlier cases left of their time is there for later ones. A training has as many blocks
  /// as the plan's steps make, and few without communication, which nothing is held against.
  StoppingRule rule(const Case& c) const;
  bool out_of_budget() const;
  /// By the pace so far; negative while nothing is known.
  double seconds_left() const;

 private:
  double elapsed() const { return clock_().value - start_; }

  const RunPlan& plan_;
  std::function<Seconds()> clock_;
  double start_;
  double measured_ = 0.0;  ///< seconds spent on finished steps
  int step_ = 0;
  int steps_;
};

}  // namespace linkgain

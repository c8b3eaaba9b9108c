#pragma once

#include "linkgain/plan/run_plan.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/run/observer.hpp"
#include "linkgain/run/world.hpp"

namespace linkgain {

/// When the launches of a soak begin: evenly over the budget, one after the other, and none that
/// the rest of the budget does not hold.
class SoakPace {
 public:
  /// Paces a soak; the budget counts from now on. All must outlive it.
  SoakPace(const RunPlan& plan, RunWorld& world, Record& record, const RunObserver& run);

  /// Rests until it is time for the launch; false where the budget does not hold another one as
  /// long as the longest so far. Throws Interrupted.
  bool begins(int launch);

  /// Writes when that launch began into the record, in the time of the run: jobs of it are up.
  void note_begin(int launch);

 private:
  double elapsed() const { return world_.now().value - start_; }

  const RunPlan& plan_;
  RunWorld& world_;
  Record& record_;
  const RunObserver& run_;
  double start_;
  std::optional<int> first_{};  ///< that is not kept
  double begun_ = 0.0;
  double begin_in_run_ = 0.0;  ///< of the same launch
  double longest_ = 0.0;
};

}  // namespace linkgain

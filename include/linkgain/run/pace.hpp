#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "linkgain/plan/run_plan.hpp"
#include "linkgain/run/observer.hpp"
#include "linkgain/run/time_left.hpp"

namespace linkgain {

/// How far a run is, what its budget holds, and what time is left. A step is one case in one launch
/// (and, run one after the other, of one variant). A budget that is too short for all lowers the
/// launches to kFewestLaunches first; then cases are left out, so that the others have theirs.
class RunPace {
 public:
  /// Keeps the pace of a run from now on. Both must outlive it.
  RunPace(const RunPlan& plan, const RunObserver& clock);

  double elapsed() const { return clock_.now().value - start_; }
  bool out_of_budget() const { return plan_.budget && seconds_of_budget_left() <= 0.0; }

  /// Returns indices of the cases, as they are to be measured: order_within().
  const std::vector<int>& order() const { return order_; }
  int launches() const { return launches_ + added_; }
  /// Returns the rounds of the case with this index in a launch; none of one that is left out.
  int rounds(int case_index, int launch) const;

  /// Notes that jobs that are up together are being started; what that took, and then what ending
  /// them did.
  void starts_group() {
    ++groups_;
    begun_ = clock_.now().value;
  }
  void started_group(double seconds) {
    group_seconds_ = seconds;
    begun_.reset();
  }
  void ended_group(double seconds) { group_seconds_ += seconds; }
  /// Notes that all that they would measure was kept.
  void leaves_group_out() { ++groups_; }
  /// Notes that an earlier part of the run measured this case in this launch.
  void keeps(int case_index, int launch);

  /// Admits a case before each step. Leaves one out that has none yet if the budget does not hold
  /// kFewestLaunches of it and of those before; false for one that is left out.
  bool admits(int case_index);
  /// Lowers the launches after the first one to what the budget holds; returns whether it did. If
  /// it does not hold a second launch of all, leaves out those that do not fit in, in order().
  bool lower_launches();
  /// Tells how many more launches of these cases, up together, the budget holds of so many; none
  /// where something was left out or lowered.
  int holds(const std::vector<int>& cases, int launches) const;
  /// Counts such a group in.
  void add_group(const std::vector<int>& cases, int launches);

  int step() const;
  int steps() const;
  /// Notes that the case with this index is done, in one launch; `rounds_seconds` of its time
  /// passed in batches.
  void finished(int case_index, int launch, double seconds, double rounds_seconds);
  /// Returns the time left, by what each case took so far; what is not known yet is guessed. Below
  /// zero: since the budget was used up.
  double seconds_left() const;

 private:
  struct Planned {
    int steps = 0;
    int added = 0;  ///< launches, of those in `steps`
    bool left_out = false;
    ToGo kept{};  ///< of an earlier part of the run, which no other member counts
  };

  void plan_steps();
  ToGo to_go(std::size_t index, int launches) const;
  int groups_to_go(int launches) const;
  /// Returns the time of the rest of the run in so many launches, as far as it is known; of the
  /// cases that were not begun only that with the index `first`, where it is given.
  double seconds_for(int launches, std::optional<std::size_t> first = {}) const;
  double seconds_of_budget_left() const { return plan_.budget->value - elapsed(); }
  double seconds_of_group() const;
  /// Returns the time so far of what is being started or measured, which has no end yet.
  double seconds_of_begun() const;

  const RunPlan& plan_;
  const RunObserver& clock_;
  double start_;
  int launches_;  ///< of those planned
  std::vector<int> order_;
  int added_ = 0;
  int added_groups_ = 0;            ///< that these are up in
  int groups_ = 0;                  ///< begun
  double group_seconds_ = 0.0;      ///< that starting and ending the last one took
  std::optional<double> begun_{};   ///< when the jobs, or the case, that have no end yet were
  std::optional<int> measuring_{};  ///< that case
  std::vector<Planned> cases_;
  TimeLeft times_;
};

}  // namespace linkgain

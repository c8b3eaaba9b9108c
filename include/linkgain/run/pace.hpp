#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "linkgain/plan/run_plan.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/run/observer.hpp"
#include "linkgain/run/world.hpp"

namespace linkgain {

/// What is to come of a case.
struct ToGo {
  int steps = 0;
  int rounds = 0;
};

/// What the cases of a run took so far, and by that how long the rest of them will take.
class TimeLeft {
 public:
  /// Knows of no case what it takes yet. The plan must outlive it.
  explicit TimeLeft(const RunPlan& plan) : plan_(plan), took_(plan.cases.size()) {}

  /// Notes a step of a case, of so many rounds; `rounds_seconds` of its time passed in batches.
  void took(std::size_t index, int rounds, double seconds, double rounds_seconds);
  /// Returns the steps of a case that took() was told of, and their rounds.
  const ToGo& done(std::size_t index) const { return took_[index].done; }

  /// Returns what a case takes, by what it took so far, else what those of the nearest size did;
  /// nothing if none was measured. A training and a case without one tell nothing of each other,
  /// and with a budget neither does a far larger case: of one that is small the time is found by
  /// measuring it.
  std::optional<double> seconds_of(std::size_t index, ToGo part) const;
  /// Returns the same, with a guess for what is not known yet.
  double expected_seconds(std::size_t index, ToGo part) const;
  /// Guesses by what such cases take on usual machines.
  double guessed_seconds(std::size_t index, ToGo part) const;

 private:
  struct Took {
    ToGo done;
    double seconds = 0.0;
    double rounds_seconds = 0.0;
  };

  /// Returns how many times as large a case is as the nearest one below it that was measured;
  /// infinite where none was.
  double growth_to(std::size_t index) const;

  const RunPlan& plan_;
  std::vector<Took> took_;
};

/// Returns in how many passes all cases of a launch are measured: one for each variant where they
/// run one after the other.
inline int passes_of(const RunPlan& plan) {
  return plan.schedule == Schedule::sequential ? static_cast<int>(plan.variants.size()) : 1;
}

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

  /// Notes that jobs that are up together are being started, or left out where all that they would
  /// measure was kept; what starting took, and then what ending them did.
  void starts_group() {
    ++groups_;
    begun_ = clock_.now().value;
  }
  void started_group(double seconds) {
    group_seconds_ = seconds;
    begun_.reset();
  }
  void ended_group(double seconds) { group_seconds_ += seconds; }
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
    int added = 0;  ///< launches, beside those planned
    bool left_out = false;
    ToGo kept{};  ///< of an earlier part of the run, which no other member counts
  };

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

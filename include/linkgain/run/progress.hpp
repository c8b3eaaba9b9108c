#pragma once

#include <optional>
#include <string>
#include <vector>

#include "linkgain/plan/run_plan.hpp"
#include "linkgain/protocol/protocol.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

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
  virtual void probing_took(double /*seconds*/) {}
  virtual void sampled() {}  ///< each variant once more, or a part of a training
  virtual void counting_took(double /*seconds*/) {}
  virtual void health_took(double /*seconds*/) {}
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

/// Sums up in a record what a run's time goes into, and what looking costs.
class RunCosts : public RunObserver {
 public:
  /// Counts the costs of a run. The record must outlive this. The part that begins at `start` goes
  /// on with the earlier one's wall time and costs; looking costs where links can be counted.
  RunCosts(Record& record, bool counts_links, Seconds start);

  Seconds run_time() const override { return {now().value - start_}; }
  void probing_took(double seconds) override;
  void counting_took(double seconds) override;
  void health_took(double seconds) override;
  void spent(double TimeSpent::*what, Seconds time) override { spent_.*what += time.value; }
  void worked() override { last_work_ = now(); }
  std::optional<Seconds> rested() const override;

 protected:
  /// Returns the record, whose wall time is that until now.
  Record& record_until_now();
  /// Returns whether looking has cost no more than this share of the run's time. What asking NCCL
  /// for algorithms took does not count: leaving readings out wins nothing back of it.
  bool looking_costs_within(double share) const;
  /// Notes a job of those that start together, of which the slowest counts.
  void started(const protocol::HelloReply& reply);
  /// Notes that all of them started, in this time.
  void all_started(Seconds time);

 private:
  Record& record_;
  double start_;                      ///< as if no part had been before this one
  TimeSpent& spent_;                  ///< the record's
  EvidenceCost* looking_ = nullptr;   ///< the record's, where links can be counted
  TimeSpent starting_{};              ///< by the slowest of the jobs that are starting
  std::optional<Seconds> last_work_;  ///< of any job, when it ended
};

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

  int step() const { return total(&Spent::steps); }
  int steps() const { return total(&Spent::planned); }
  /// Notes that the case with this index is done, in one launch; `rounds_seconds` of its time
  /// passed in batches.
  void finished(int case_index, int launch, double seconds, double rounds_seconds);
  /// Returns the time left, by what each case took so far; what is not known yet is guessed. Below
  /// zero: since the budget was used up.
  double seconds_left() const;

 private:
  struct Spent {
    int steps = 0;
    int planned = 0;  ///< steps
    int added = 0;    ///< launches, of those in `planned`
    bool left_out = false;
    int rounds = 0;      ///< of the finished steps
    int kept_steps = 0;  ///< of an earlier part of the run, which no other member counts
    int kept_rounds = 0;
    double seconds = 0.0;
    double rounds_seconds = 0.0;
  };
  /// What is to come of a case.
  struct ToGo {
    int steps = 0;
    int rounds = 0;
  };

  int passes() const {
    return plan_.schedule == Schedule::sequential ? static_cast<int>(plan_.variants.size()) : 1;
  }
  int total(int Spent::*part) const;
  void plan_steps();
  ToGo to_go(std::size_t index, int launches) const;
  int groups_to_go(int launches) const;
  /// Returns the time of the rest of the run in so many launches, as far as it is known; of the
  /// cases that were not begun only `first`, where it is given.
  double seconds_for(int launches, const Spent* first = nullptr) const;
  double seconds_of_budget_left() const { return plan_.budget->value - elapsed(); }
  /// Returns what a case takes, by what it took so far, else what those of the nearest size did;
  /// nothing if none was measured. A training and a case without one tell nothing of each other,
  /// and with a budget neither does a far larger case: of one that is small the time is found by
  /// measuring it.
  std::optional<double> seconds_of(std::size_t index, ToGo part) const;
  /// Returns how many times as large a case is as the nearest one below it that was measured;
  /// infinite where none was.
  double growth_to(std::size_t index) const;
  /// Guesses by what such cases take on usual machines.
  double guessed_seconds(std::size_t index, ToGo part) const;
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
  std::vector<Spent> cases_;
};

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

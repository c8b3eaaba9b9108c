#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "linkgain/plan/run_plan.hpp"

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

}  // namespace linkgain

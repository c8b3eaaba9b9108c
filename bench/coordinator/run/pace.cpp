#include "linkgain/run/pace.hpp"

#include <algorithm>

#include "linkgain/base/units.hpp"
#include "linkgain/plan/run_plan.hpp"

namespace linkgain {

RunPace::RunPace(const RunPlan& plan, const RunObserver& clock)
    : plan_(plan),
      clock_(clock),
      start_(clock.now().value),
      launches_(plan.launches),
      order_(order_within(plan.cases, plan.budget.has_value())),
      cases_(plan.cases.size()),
      times_(plan) {}

int RunPace::rounds(int case_index, int launch) const {
  const auto index = static_cast<std::size_t>(case_index);
  if (cases_[index].left_out) return 0;
  return rounds_in_launch(plan_, plan_.cases[index], launch, launches_);
}

void RunPace::keeps(int case_index, int launch) {
  ToGo& kept = cases_[static_cast<std::size_t>(case_index)].kept;
  const int kept_now = rounds(case_index, launch);
  if (kept_now == 0) return;
  ++kept.steps;
  kept.rounds += kept_now;
}

ToGo RunPace::to_go(std::size_t index, int launches) const {
  const Planned& own = cases_[index];
  if (own.left_out) return {};
  ToGo all{own.added, own.added * kRoundsPerLaunch};
  for (int launch = 0; launch < launches; ++launch) {
    const int in_launch = rounds_in_launch(plan_, plan_.cases[index], launch, launches);
    all.steps += in_launch > 0 ? 1 : 0;
    all.rounds += in_launch;
  }
  const ToGo& done = times_.done(index);
  return {std::max(0, all.steps * passes_of(plan_) - own.kept.steps - done.steps),
          std::max(0, all.rounds * passes_of(plan_) - own.kept.rounds - done.rounds)};
}

int RunPace::groups_to_go(int launches) const {
  const int at_once = launches_at_once(plan_);
  const int groups = static_cast<int>(divide_up(launches, at_once));
  return std::max(0, (groups + added_groups_) * passes_of(plan_) - groups_);
}

void RunPace::add_group(const std::vector<int>& cases, int launches) {
  added_ += launches;
  added_groups_ += static_cast<int>(divide_up(launches, launches_at_once(plan_)));
  for (const int index : cases) cases_[static_cast<std::size_t>(index)].added += launches;
}

int RunPace::step() const {
  int done = 0;
  for (std::size_t i = 0; i < cases_.size(); ++i) done += times_.done(i).steps;
  return done;
}

int RunPace::steps() const {
  int planned = step();
  for (std::size_t i = 0; i < cases_.size(); ++i) planned += to_go(i, launches_).steps;
  return planned;
}

void RunPace::finished(int case_index, int launch, double seconds, double rounds_seconds) {
  times_.took(static_cast<std::size_t>(case_index), rounds(case_index, launch), seconds,
              rounds_seconds);
  begun_.reset();
  measuring_.reset();
}

double RunPace::seconds_of_group() const {
  if (group_seconds_ > 0.0 || step() > 0) return group_seconds_;
  const int jobs =
      launches_at_once(plan_) * static_cast<int>(plan_.variants.size()) / passes_of(plan_);
  return guessed_start_time(plan_.backend, jobs).value;
}

double RunPace::seconds_of_begun() const {
  if (!begun_) return 0.0;
  if (!measuring_) return seconds_of_group();
  const auto index = static_cast<std::size_t>(*measuring_);
  const ToGo one{1, rounds(*measuring_, step() / std::max(1, steps() / launches()))};
  return times_.seconds_of(index, one).value_or(times_.guessed_seconds(index, one));
}

double RunPace::seconds_left() const {
  double seconds = groups_to_go(launches_) * seconds_of_group();
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    const ToGo part = to_go(i, launches_);
    if (part.steps > 0) seconds += times_.expected_seconds(i, part);
  }
  const bool starting = begun_ && !measuring_;
  if (starting) seconds += seconds_of_group();
  if (begun_) seconds -= std::min(clock_.now().value - *begun_, seconds_of_begun());
  seconds = std::max(0.0, seconds);
  return plan_.budget ? std::min(seconds, seconds_of_budget_left()) : seconds;
}

}  // namespace linkgain

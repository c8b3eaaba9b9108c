#include "linkgain/run/pace.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "linkgain/base/units.hpp"

namespace linkgain {
namespace {

/// By how many doublings a measured size may lie above one of which it tells the time.
constexpr int kMostDoublings = 4;

int doublings(Bytes size) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(size.value)));
}

}  // namespace

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

void TimeLeft::took(std::size_t index, int rounds, double seconds, double rounds_seconds) {
  Took& all = took_[index];
  all.seconds += seconds;
  all.rounds_seconds += rounds_seconds;
  all.done.rounds += rounds;
  ++all.done.steps;
}

std::optional<double> TimeLeft::seconds_of(std::size_t index, ToGo part) const {
  Took like = took_[index];
  const Case& own = plan_.cases[index];
  std::optional<int> nearest;
  for (std::size_t i = 0; took_[index].done.steps == 0 && i < took_.size(); ++i) {
    const Took& took = took_[i];
    const Case& other = plan_.cases[i];
    if (took.done.steps == 0 || other.training.has_value() != own.training.has_value()) continue;
    const int larger = doublings(other.size) - doublings(own.size);
    if (plan_.budget && larger > kMostDoublings) continue;
    if (nearest && std::abs(larger) > *nearest) continue;
    if (nearest && std::abs(larger) < *nearest) like = {};
    nearest = std::abs(larger);
    like.done.steps += took.done.steps;
    like.done.rounds += took.done.rounds;
    like.seconds += took.seconds;
    like.rounds_seconds += took.rounds_seconds;
  }
  if (like.done.steps == 0) return std::nullopt;
  return part.steps * (like.seconds - like.rounds_seconds) / like.done.steps +
         part.rounds * like.rounds_seconds / std::max(1, like.done.rounds);
}

double TimeLeft::guessed_seconds(std::size_t index, ToGo part) const {
  const bool gpus = plan_.backend == BackendKind::nccl;
  const auto variants = static_cast<double>(plan_.variants.size()) / passes_of(plan_);
  const double opening = gpus ? 0.05 : 0.15;
  const double a_mebibyte = gpus ? 0.0005 : 0.02;
  const Case& c = plan_.cases[index];
  const double mebibytes = static_cast<double>(c.size.value) / (1 << 20);
  if (!c.training) return variants * part.steps * (opening + a_mebibyte * mebibytes);
  const double training_opening = gpus ? 1.0 : 0.5;
  const double block = gpus ? 0.8 : 0.3;
  return variants * (part.steps * training_opening + part.rounds * block);
}

double TimeLeft::growth_to(std::size_t index) const {
  double growth = std::numeric_limits<double>::infinity();
  const Case& own = plan_.cases[index];
  for (std::size_t i = 0; i < took_.size() && !own.training; ++i) {
    const Case& other = plan_.cases[i];
    if (took_[i].done.steps == 0 || other.training || other.size > own.size) continue;
    growth = std::min(growth, static_cast<double>(own.size.value) /
                                  static_cast<double>(std::max<std::int64_t>(1, other.size.value)));
  }
  return growth;
}

double TimeLeft::expected_seconds(std::size_t index, ToGo part) const {
  const std::optional<double> like = seconds_of(index, part);
  if (took_[index].done.steps > 0) return *like;
  const double guess = guessed_seconds(index, part);
  // Smaller sizes, which are measured first, take less, but no less than in proportion.
  const double most = like ? std::max(*like, *like * growth_to(index)) : guess;
  return std::clamp(guess, like.value_or(0.0), most);
}

double RunPace::seconds_for(int launches, std::optional<std::size_t> first) const {
  double seconds = groups_to_go(launches) * group_seconds_;
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    if (first && times_.done(i).steps == 0 && i != *first) continue;
    seconds += times_.seconds_of(i, to_go(i, launches)).value_or(0.0);
  }
  return seconds;
}

bool RunPace::admits(int case_index) {
  const auto index = static_cast<std::size_t>(case_index);
  bool& left_out = cases_[index].left_out;
  begun_ = clock_.now().value;
  measuring_ = case_index;
  if (left_out || times_.done(index).steps > 0 || !plan_.budget || step() == 0) return !left_out;
  const int fewest = plan_.is_soak ? 1 : kFewestLaunches;
  left_out = seconds_for(std::min(launches_, fewest), index) > seconds_of_budget_left();
  return !left_out;
}

bool RunPace::lower_launches() {
  if (!plan_.budget) return false;
  const int before = launches_;
  while (launches_ > kFewestLaunches && seconds_for(launches_) > seconds_of_budget_left()) {
    --launches_;
  }
  double room = seconds_of_budget_left() - groups_to_go(2) * group_seconds_;
  for (const int index : order_) {
    const auto place = static_cast<std::size_t>(index);
    const double more = times_.seconds_of(place, to_go(place, 2)).value_or(0.0);
    if (launches_ > 1 && more > room && index != order_.front()) cases_[place].left_out = true;
    if (!cases_[place].left_out) room -= more;
  }
  return launches_ < before;
}

int RunPace::holds(const std::vector<int>& cases, int launches) const {
  if (!plan_.budget) return launches;
  const bool all = launches_ == plan_.launches && std::ranges::none_of(cases_, &Planned::left_out);
  double seconds = 0.0;
  for (const int index : cases) {
    seconds +=
        times_.seconds_of(static_cast<std::size_t>(index), {1, kRoundsPerLaunch}).value_or(0.0);
  }
  const double left = seconds_of_budget_left() / passes_of(plan_) - group_seconds_;
  if (!all || left <= 0.0) return 0;
  return static_cast<int>(std::min<double>(launches, std::floor(left / std::max(seconds, 1e-9))));
}

SoakPace::SoakPace(const RunPlan& plan, RunWorld& world, Record& record, const RunObserver& run)
    : plan_(plan), world_(world), record_(record), run_(run), start_(world.now().value) {}

bool SoakPace::begins(int launch) {
  if (!plan_.budget) return true;
  if (first_) longest_ = std::max(longest_, elapsed() - begun_);
  const double interval = plan_.budget->value / plan_.launches;
  if (!first_) first_ = launch;
  const double due = (launch - *first_) * interval;
  if (due > elapsed()) world_.rest(Seconds{due - elapsed()});
  if (elapsed() + longest_ > plan_.budget->value) return false;
  begun_ = elapsed();
  begin_in_run_ = run_.run_time().value;
  return true;
}

void SoakPace::note_begin(int launch) {
  std::vector<double>& begins = record_.launch_begins_s;
  const auto place = static_cast<std::size_t>(launch);
  // An older journal does not tell when a launch that is kept began.
  const double unknown = begins.empty() ? 0.0 : begins.back();
  begins.resize(std::max(begins.size(), place + 1), unknown);
  begins[place] = begin_in_run_;
}

}  // namespace linkgain

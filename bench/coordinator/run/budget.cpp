// What a RunPace does about a budget that does not hold everything.
#include <algorithm>
#include <cmath>

#include "linkgain/run/pace.hpp"

namespace linkgain {

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

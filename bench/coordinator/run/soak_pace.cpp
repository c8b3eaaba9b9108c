#include "soak_pace.hpp"

#include <algorithm>

namespace linkgain {

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

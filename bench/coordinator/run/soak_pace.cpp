#include "soak_pace.hpp"

#include <algorithm>

namespace linkgain {

SoakPace::SoakPace(const RunPlan& plan, RunWorld& world, Record& record)
    : plan_(plan),
      world_(world),
      record_(record),
      start_(world.now().value),
      earlier_s_(record.launch_begins_s.empty() ? 0.0 : record.launch_begins_s.back()) {}

bool SoakPace::begins(int launch) {
  if (!plan_.budget) return true;
  if (first_) longest_ = std::max(longest_, elapsed() - begun_);
  const double interval = plan_.budget->value / plan_.launches;
  const auto place = static_cast<std::size_t>(launch);
  if (!first_) {
    first_ = launch;
    const bool kept_last = place > 0 && place >= record_.launch_begins_s.size();
    if (kept_last) earlier_s_ += interval;
  }
  const double due = (launch - *first_) * interval;
  if (due > elapsed()) world_.rest(Seconds{due - elapsed()});
  if (elapsed() + longest_ > plan_.budget->value) return false;
  begun_ = elapsed();
  record_.launch_begins_s.resize(std::max(record_.launch_begins_s.size(), place + 1));
  record_.launch_begins_s[place] = earlier_s_ + begun_;
  return true;
}

}  // namespace linkgain

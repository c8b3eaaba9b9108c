#include "gpu_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "linkgain/cases/case_label.hpp"

namespace linkgain {

GpuWatch::GpuWatch(RunWorld& world, Record& record, RunObserver& observer)
    : world_(world), record_(record), observer_(observer), begun_(world.now()) {}

bool GpuWatch::read_errors() {
  ErrorCounts now = world_.error_counts_of_gpus(begun_);
  if (now.empty()) return false;
  if (!record_.link_errors) record_.link_errors.emplace();  // a run that goes on has some
  LinkErrors& errors = *record_.link_errors;
  const std::size_t known = errors.grown.size();
  add_reading(errors, last_, now, observer_.run_time().value);
  last_ = std::move(now);
  for (std::size_t i = known; i < errors.grown.size(); ++i) {
    const ErrorGrowth& each = errors.grown[i];
    observer_.note(fmt::format("warning: {} more, {:.0f} s after the start",
                               describe(each.counter, each.growth), each.after_s));
  }
  return errors.grown.size() > known;
}

void GpuWatch::look_at_health(const CaseResult& result) {
  if (result.samples.empty()) return;
  const std::vector<Health>& ranks = result.samples.back().health;
  readable_.resize(std::max(readable_.size(), ranks.size()));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const bool now = ranks[rank].temperature_c.has_value();
    if (readable_[rank] && !now) {
      observer_.warn({"gpu-silent",
                      fmt::format("the GPU of rank {} no longer tells its temperature, in {}", rank,
                                  case_label(result.definition)),
                      "see linkgain doctor for what the driver says of it"});
    }
    readable_[rank] = now;
  }
}

}  // namespace linkgain

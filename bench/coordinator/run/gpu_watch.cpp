#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "linkgain/cases/case_label.hpp"
#include "linkgain/record/warning.hpp"
#include "watches.hpp"

namespace linkgain {
namespace {

/// Names what was read before and is not now.
std::vector<std::string_view> lost_readings(const Health& before, const Health& now) {
  std::vector<std::string_view> lost;
  const auto compare = [&](std::string_view name, const auto& was, const auto& is) {
    if (was && !is) lost.push_back(name);
  };
  compare("temperature", before.temperature_c, now.temperature_c);
  compare("power", before.power_w, now.power_w);
  compare("SM clock", before.sm_clock_mhz, now.sm_clock_mhz);
  compare("clock events", before.clock_event_reasons, now.clock_event_reasons);
  return lost;
}

}  // namespace

GpuWatch::GpuWatch(RunWorld& world, Record& record, RunObserver& observer)
    : world_(world), record_(record), observer_(observer), begun_(world.now()) {}

bool GpuWatch::read_errors() {
  const std::vector<std::string> grown = errors_.add(
      record_.link_errors, world_.error_counts_of_gpus(begun_), observer_.run_time().value);
  for (const std::string& line : grown) observer_.note(line);
  return !grown.empty();
}

void GpuWatch::look_at_health(const CaseResult& result) {
  if (result.samples.empty()) return;
  const std::vector<Health>& ranks = result.samples.back().health;
  health_.resize(std::max(health_.size(), ranks.size()));
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::vector<std::string_view> lost = lost_readings(health_[rank], ranks[rank]);
    health_[rank] = ranks[rank];
    if (lost.empty()) continue;
    observer_.warn({name_of(WarningCode::gpu_silent),
                    fmt::format("the GPU of rank {} no longer tells its {}, in {}", rank,
                                fmt::join(lost, ", "), case_label(result.definition)),
                    advice_of(WarningCode::gpu_silent)});
  }
}

}  // namespace linkgain

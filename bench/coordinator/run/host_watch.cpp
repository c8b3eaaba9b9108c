#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "linkgain/record/warning.hpp"
#include "linkgain/telemetry/host.hpp"
#include "watches.hpp"

namespace linkgain {
namespace {

/// The kernel counts in ticks of 10 ms.
constexpr double kShortestSegment = 0.5;
/// A quiet host has kernel threads and timers, which take less than a tenth of a processor.
constexpr double kQuietProcessors = 0.25;
/// The share of time that is much: our own ranks wait for each other's processor at start, and
/// seldom after.
constexpr double kMuchPressure = 0.2;
/// The share of one processor's time that is much: what a hypervisor's own work takes is below it.
constexpr double kMuchStolen = 0.02;
/// A second, of all ranks of the one job that works. Timers and kernel threads interrupt a spinning
/// rank a few times a second, a process that shares its processor 100 times and more.
constexpr double kManySwitches = 50.0;

}  // namespace

HostWatch::HostWatch(const RunPlan& plan, RunWorld& world, Record& record, RunObserver& observer)
    : plan_(plan), world_(world), record_(record), observer_(observer) {}

HostWatch::Reading HostWatch::read() const {
  return {world_.now().value, world_.load_of_host(own_)};
}

int HostWatch::ranks_here() const { return static_cast<int>(divide_up(plan_.ranks, plan_.hosts)); }

bool HostWatch::leave_too_few(double others) const {
  return others > kQuietProcessors && usable_processors() - others < ranks_here();
}

std::optional<double> HostWatch::others(const Reading& from, const Reading& to) const {
  const double seconds = to.at - from.at;
  if (!from.load.busy_s || !to.load.busy_s || seconds < kShortestSegment) return std::nullopt;
  const double own = to.load.own_s - from.load.own_s;
  if (own < 0.0) return std::nullopt;  // a job was lost, and its ranks' count with it
  return std::max(0.0, (*to.load.busy_s - *from.load.busy_s - own) / seconds);
}

void HostWatch::before_start() { before_start_ = read(); }

void HostWatch::end_of_start_window() {
  if (!before_start_ || !before_start_->load.busy_s) return;
  const double waited = world_.now().value - before_start_->at;
  if (waited < kShortestSegment) world_.rest(Seconds{kShortestSegment - waited});
  const std::optional<double> busy = others(*before_start_, read());
  if (!busy || !leave_too_few(*busy)) return;
  observer_.warn(
      warning_of(WarningCode::busy_processors,
                 fmt::format("{:.1f} of {} processors were busy before anything was started, which "
                             "leaves too few for {} ranks",
                             *busy, usable_processors(), ranks_here())));
}

void HostWatch::add_own(const Machine& machine) {
  const std::string here = host_name();
  for (const RankInfo& rank : machine.ranks) {
    if (rank.host == here) own_.push_back(rank.pid);
  }
}

void HostWatch::resume() {
  began_ = segment_ = read();
  unsure_since_ = count_samples(record_);
}

void HostWatch::hand_over() {
  if (plan_.backend != BackendKind::mpi || !segment_) return;
  if (world_.now().value - segment_->at < kShortestSegment) return;
  const Reading now = read();
  if (leave_too_few(others(*segment_, now).value_or(0.0))) {
    observer_.disturbed_since(unsure_since_);
  }
  segment_ = now;
  unsure_since_ = count_samples(record_);
}

void HostWatch::pause() {
  if (!began_) return;
  hand_over();
  const Reading now = read();
  const auto growth = [&](std::optional<double> HostLoad::*counter) {
    const std::optional<double>& before = began_->load.*counter;
    const std::optional<double>& after = now.load.*counter;
    return before && after ? *after - *before : 0.0;
  };
  seconds_ += now.at - began_->at;
  pressure_s_ += growth(&HostLoad::pressure_s);
  stolen_s_ += growth(&HostLoad::stolen_s);
  // A job that ended meanwhile takes its count with it.
  switches_ += std::max(
      0.0, static_cast<double>(now.load.involuntary_switches - began_->load.involuntary_switches));
  began_.reset();
  segment_.reset();
  own_.clear();  // our jobs end now, and others may get their numbers
}

void HostWatch::tell() {
  if (seconds_ < kShortestSegment) return;
  std::vector<std::string> found;
  if (pressure_s_ > kMuchPressure * seconds_) {
    found.push_back(fmt::format("processes waited for a processor in {:.0f} % of the time",
                                100 * pressure_s_ / seconds_));
  }
  if (stolen_s_ > kMuchStolen * seconds_) {
    found.push_back(
        fmt::format("a hypervisor took {:.2f} processors' time for others", stolen_s_ / seconds_));
  }
  if (switches_ > kManySwitches * seconds_) {
    found.push_back(
        fmt::format("the ranks were interrupted {:.0f} times a second", switches_ / seconds_));
  }
  if (found.empty()) return;
  observer_.warn(warning_of(WarningCode::host_load,
                            fmt::format("while measuring, {}", fmt::join(found, "; "))));
}

}  // namespace linkgain

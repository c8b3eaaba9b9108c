#include "watches.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "linkgain/cases/case_label.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/telemetry/host.hpp"

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

/// Between two readings of one window.
constexpr double kStep = 0.1;
constexpr double kFullWindow = 1.0;
/// A driver's reading is of a period of at most 1 s that ended at most as long ago, so that those
/// of the end hold no work of ours.
constexpr double kLongestBriefWindow = 2.2;
/// What a brief window takes where there is no neighbour: a period of 1/6 s, and a reading more.
constexpr double kUsualBriefWindow = 0.4;
/// At the end of a window, of which a mean is taken.
constexpr std::size_t kLastOfFull = 5;
constexpr std::size_t kLastOfBrief = 2;

constexpr double kBetweenLooks = 0.25;
constexpr double kBetweenWindows = 10.0;
/// Parts of the run's time that looks and windows may take.
constexpr double kAffordableLooks = 0.01;
constexpr double kAffordableWindows = 0.04;

using Looks = std::vector<std::vector<GpuUse>>;

bool tells_work(const std::vector<GpuUse>& uses) {
  return std::ranges::any_of(
      uses, [](const GpuUse& use) { return use.busy_percent || use.nvlink_bytes; });
}

bool tells_processes(const std::vector<GpuUse>& uses) {
  return std::ranges::any_of(uses, [](const GpuUse& use) { return use.processes.has_value(); });
}

bool all_idle(const std::vector<GpuUse>& uses) {
  return std::ranges::none_of(
      uses, [](const GpuUse& use) { return use.busy_percent.value_or(0.0) >= kBusyPercent; });
}

std::optional<double> mean_busy(const Looks& looks, std::size_t gpu, std::size_t readings) {
  double sum = 0.0;
  int count = 0;
  for (std::size_t i = looks.size() - std::min(readings, looks.size()); i < looks.size(); ++i) {
    if (gpu >= looks[i].size() || !looks[i][gpu].busy_percent) continue;
    sum += *looks[i][gpu].busy_percent;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

/// Tells by the end of a full window whether others are at work.
bool seems_busy(const Looks& looks) {
  for (std::size_t gpu = 0; gpu < looks.front().size(); ++gpu) {
    if (mean_busy(looks, gpu, kLastOfFull).value_or(0.0) >= kBusyPercent) return true;
  }
  return false;
}

/// The kernel counts in ticks of 10 ms.
constexpr double kShortestSegment = 0.5;
/// A quiet host has kernel threads and timers, which take less than a tenth of a processor.
constexpr double kQuietProcessors = 0.25;
/// The share of time that is much: our own ranks wait for each other's processor at start, and
/// seldom after.
constexpr double kMuchPressure = 0.2;
/// A second, of all ranks of the one job that works. Timers and kernel threads interrupt a spinning
/// rank a few times a second, a process that shares its processor 100 times and more.
constexpr double kManySwitches = 50.0;

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
    observer_.warn(warning_of(WarningCode::gpu_silent,
                              fmt::format("the GPU of rank {} no longer tells its {}, in {}", rank,
                                          fmt::join(lost, ", "), case_label(result.definition))));
  }
}

NeighbourWatch::NeighbourWatch(RunWorld& world, Record& record, RunObserver& observer)
    : world_(world),
      record_(record),
      observer_(observer),
      start_(world.now().value),
      last_look_(start_),
      last_window_(start_),
      unsure_since_(count_samples(record)) {}

double NeighbourWatch::elapsed() const { return world_.now().value - start_; }

std::vector<GpuUse> NeighbourWatch::look() {
  std::vector<GpuUse> uses = world_.look_at_gpus();
  last_look_ = world_.now().value;
  return uses;
}

void NeighbourWatch::before_start() {
  const double before = elapsed();
  const std::vector<GpuUse> uses = look();
  const bool goes_on = record_.neighbours.has_value();
  if (!goes_on) record_.neighbours.emplace();
  Neighbours& found = *record_.neighbours;
  found.not_looked = world_.why_not_all_gpus();
  if (uses.empty()) return;
  looking_ = tells_processes(uses) || tells_work(uses);
  if (!looking_) {
    found.not_looked = "the driver reports neither the GPUs' processes nor their utilization";
    return;
  }
  if (tells_processes(uses)) ++found.looks;
  find_others(uses);
  judge(watch(Window::full), !goes_on);
  found.cost_s += elapsed() - before;
}

void NeighbourWatch::add_own(const Machine& machine) {
  for (const RankInfo& rank : machine.ranks) own_.insert(rank.pid);
}

/// Looks for others; returns whether there is one that was not there before.
bool NeighbourWatch::find_others(const std::vector<GpuUse>& uses) {
  bool arrived = false;
  for (const GpuUse& use : uses) {
    if (!use.processes) continue;
    State& state = gpus_[use.gpu];
    const auto is_own = [&](const GpuProcess& each) { return own_.contains(each.pid); };
    const bool lists_own = std::ranges::any_of(*use.processes, is_own);
    lists_own_ = lists_own_ || lists_own;
    const bool ids_are_ours = own_.empty() || lists_own;
    state.others.clear();
    for (const GpuProcess& process : *use.processes) {
      if (is_own(process)) continue;
      // Beside ids of another namespace only those are known to be others' that were there before.
      if (ids_are_ours || state.known.contains(process.pid)) state.others.push_back(process);
    }
    if (ids_are_ours) {
      arrived = arrived || std::ranges::any_of(state.others, [&](const GpuProcess& each) {
                  return !state.known.contains(each.pid);
                });
      continue;
    }
    const bool first = state.most_listed == 0;
    if (use.processes->size() <= state.most_listed) continue;
    arrived = arrived || !first;
    state.most_listed = use.processes->size();
  }
  return arrived;
}

std::vector<NeighbourWatch::Idle> NeighbourWatch::watch(Window window) {
  const double start = elapsed();
  const bool full = window == Window::full;
  double end = full ? kFullWindow : kLongestBriefWindow;
  Looks looks{look()};
  while (tells_work(looks.front()) && elapsed() - start < end) {
    world_.rest(Seconds{kStep});
    looks.push_back(look());
    const bool idle = all_idle(looks.back());
    if (!full && idle && looks.size() > 2 && all_idle(looks[looks.size() - 2])) break;
    // Work of before the window may be in its first readings: who seems busy is looked at longer.
    if (full && end == kFullWindow && elapsed() - start >= end && seems_busy(looks)) {
      end += kFullWindow;
    }
  }
  const double length = elapsed() - start;
  std::vector<Idle> found;
  for (std::size_t i = 0; i < looks.front().size(); ++i) {
    const GpuUse& first = looks.front()[i];
    Idle& idle = found.emplace_back();
    idle.gpu = first.gpu;
    idle.busy_percent = mean_busy(looks, i, full ? kLastOfFull : kLastOfBrief);
    const std::vector<GpuUse>& last = looks.back();
    if (length > 0.0 && i < last.size() && first.nvlink_bytes && last[i].nvlink_bytes) {
      idle.nvlink_gb_per_s =
          static_cast<double>(*last[i].nvlink_bytes - *first.nvlink_bytes) / length / 1e9;
    }
  }
  if (tells_work(looks.front())) ++record_.neighbours->idle_windows;
  last_window_ = world_.now().value;
  return found;
}

void NeighbourWatch::tell(const GpuNeighbour& neighbour) {
  record_.neighbours->seen.push_back(neighbour);
  observer_.warn({name_of(is_busy(neighbour) ? WarningCode::busy_gpu : WarningCode::gpu_in_use),
                  neighbour_text(neighbour), kNeighbourAdvice});
}

void NeighbourWatch::judge(const std::vector<Idle>& window, bool before) {
  disturbed_ = false;
  arrived_ = false;
  for (const Idle& idle : window) {
    State& state = gpus_[idle.gpu];
    GpuNeighbour neighbour{idle.gpu, std::nullopt, idle.busy_percent, idle.nvlink_gb_per_s,
                           state.others};
    if (!before) neighbour.after_s = observer_.run_time().value;
    const bool busy = is_busy(neighbour);
    const bool news =
        (busy && !state.busy) || std::ranges::any_of(state.others, [&](const GpuProcess& each) {
          return !state.known.contains(each.pid);
        });
    state.busy = busy;
    for (const GpuProcess& each : state.others) state.known.insert(each.pid);
    disturbed_ = disturbed_ || busy;
    if (news) tell(neighbour);
  }
  mark_samples();
  if (!disturbed_) unsure_since_ = count_samples(record_);
}

void NeighbourWatch::mark_samples() {
  if (disturbed_) observer_.disturbed_since(unsure_since_);
}

void NeighbourWatch::hand_over() {
  if (!looking_) return;
  mark_samples();
  const double now = elapsed();
  if (start_ + now - last_look_ < kBetweenLooks || looks_s_ > kAffordableLooks * now) return;
  Neighbours& found = *record_.neighbours;
  const std::vector<GpuUse> uses = look();
  arrived_ = find_others(uses) || arrived_;
  if (tells_processes(uses)) ++found.looks;
  const double looked = elapsed();
  looks_s_ += looked - now;
  found.cost_s += looked - now;
  const double affordable = kAffordableWindows * looked;
  // Who comes is in the list. Where it does not show even ours, the window at the end is still to
  // be paid for: it sees who came meanwhile and stayed.
  const int windows = lists_own_ ? 1 : 2;
  const bool due = start_ + looked - last_window_ >= kBetweenWindows &&
                   windows_s_ + windows * kUsualBriefWindow <= affordable;
  // Who has just come is looked at once, unless others came again and again.
  if (!due && !(arrived_ && windows_s_ <= affordable)) return;
  judge(watch(Window::brief), false);
  windows_s_ += elapsed() - looked;
  found.cost_s += elapsed() - looked;
}

void NeighbourWatch::at_end() {
  if (!looking_) return;
  mark_samples();
  const double now = elapsed();
  if (!arrived_ && windows_s_ + kUsualBriefWindow > kAffordableWindows * now) return;
  find_others(look());
  judge(watch(Window::brief), false);
  windows_s_ += elapsed() - now;
  record_.neighbours->cost_s += elapsed() - now;
}

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
  if (stolen_s_ > kMuchStolen * ranks_here() * seconds_) {
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

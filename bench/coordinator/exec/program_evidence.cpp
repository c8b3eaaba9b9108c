#include "program_evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "linkgain/process/process.hpp"
#include "linkgain/telemetry/cuda_order.hpp"
#include "linkgain/telemetry/nvml.hpp"
#include "mapped_nccl.hpp"

namespace linkgain {
namespace {

using Clock = std::chrono::steady_clock;
using Span = std::chrono::duration<double>;

constexpr Span kHealthPeriod{1.0};
constexpr Span kNeighbourPeriod{10.0};
constexpr Span kFirstMappings{0.25};
constexpr Span kMappingsPeriod{2.0};
constexpr Span kIdleStep{0.1};

constexpr const char* kPcieNotRead =
    "the driver's PCIe counters can wrap within 70 ms, and linkgain does not read them that often";
constexpr const char* kUnknownIds =
    "processes came to the GPUs of which it is not known whose they are, as in a container whose "
    "process ids are its own";

Clock::duration ticks(Span span) { return std::chrono::duration_cast<Clock::duration>(span); }

/// Processor time of this thread.
double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

bool is_alive(std::int64_t pid) {
  std::error_code error;
  return std::filesystem::exists(fmt::format("/proc/{}", pid), error);
}

struct WatchedGpu {
  int number = 0;
  std::optional<Nvml::Device> device;
  std::string silence;  ///< why there is no device
  LinkCounters before{};
  AbsentCounters absent{};
  HealthSummary health{};
};

/// NVML's GPUs that CUDA_VISIBLE_DEVICES leaves, in nvidia-smi's order.
std::vector<WatchedGpu> visible_gpus(const Nvml& nvml) {
  std::vector<WatchedGpu> all;
  std::vector<TopologyGpu> described;
  for (int i = 0; i < nvml.device_count(); ++i) {
    WatchedGpu& gpu = all.emplace_back();
    TopologyGpu& entry = described.emplace_back();
    gpu.number = entry.index = i;
    gpu.device = nvml.device_by_index(i, &gpu.silence);
    entry.no_answer = gpu.device ? gpu.device->silence() : gpu.silence;
    if (!gpu.device) continue;
    entry.name = gpu.device->name().value_or("");
    entry.uuid = gpu.device->uuid().value_or("");
    entry.pci_bus_id = gpu.device->pci_bus_id().value_or("");
  }
  std::vector<std::size_t> visible = visible_to_cuda(described, cuda_settings());
  std::sort(visible.begin(), visible.end());
  std::vector<WatchedGpu> gpus;
  for (const std::size_t position : visible) gpus.push_back(all[position]);
  return gpus;
}

}  // namespace

class ProgramWatch::Impl {
 public:
  Impl() : nvml_(Nvml::open(&no_gpus_)) {
    if (!nvml_) return;
    no_gpus_.clear();
    gpus_ = visible_gpus(*nvml_);
    if (!gpus_.empty()) return;
    no_gpus_ = nvml_->device_count() == 0 ? "the driver finds no GPU"
                                          : "CUDA_VISIBLE_DEVICES leaves no GPU";
  }
  ~Impl() { stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::vector<GpuNeighbour> watch_idle(Seconds window) const;
  void begin();
  void follow(const std::string& marker);
  RunEvidence end();

 private:
  using Listed = std::vector<std::pair<int, std::vector<GpuProcess>>>;

  void stop();
  void keep_watching();
  std::vector<ProcessEntry> find_processes();
  void sample_health();
  Listed list_processes_of_gpus();
  void find_neighbours(bool before);
  bool is_known_neighbour(std::int64_t pid) const { return neighbour_ids_.contains(pid); }

  std::string no_gpus_;
  std::shared_ptr<Nvml> nvml_;
  std::vector<WatchedGpu> gpus_;
  std::set<std::int64_t> own_;  ///< ids of processes that were found in a tree

  // Of one run. Written by begin() and end() while no thread runs, and by the thread.
  Clock::time_point start_{};
  double begin_cost_ = 0.0;
  double thread_cost_ = 0.0;
  NcclFinder nccl_;
  Neighbours neighbours_;
  std::set<std::int64_t> neighbour_ids_;
  bool lists_own_ = false;  ///< the driver's ids are those of this namespace
  bool unattributed_ = false;
  std::vector<ProcessTree> trees_;

  // Shared with the thread.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<std::string> new_markers_;
  std::thread thread_;
};

std::vector<GpuNeighbour> ProgramWatch::Impl::watch_idle(Seconds window) const {
  std::vector<LinkCounters> before;
  for (const WatchedGpu& gpu : gpus_) {
    before.push_back(gpu.device ? gpu.device->link_counters() : LinkCounters{});
  }
  const Clock::time_point start = Clock::now();
  std::vector<std::pair<double, int>> busy(gpus_.size());
  do {
    std::this_thread::sleep_for(std::min(kIdleStep, Span{window.value}));
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const auto percent =
          gpus_[i].device ? gpus_[i].device->busy_percent() : Reading<double>::missing("");
      if (!percent.measured()) continue;
      busy[i].first += percent.value();
      ++busy[i].second;
    }
  } while (!gpus_.empty() && Span(Clock::now() - start).count() < window.value);
  const double length = Span(Clock::now() - start).count();
  std::vector<GpuNeighbour> found;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    if (!gpus_[i].device) continue;
    GpuNeighbour neighbour{.gpu = gpus_[i].number};
    if (busy[i].second > 0) neighbour.busy_percent = busy[i].first / busy[i].second;
    const LinkCounters moved = growth(before[i], gpus_[i].device->link_counters());
    if (moved.nvlink_sent && moved.nvlink_received && length > 0.0) {
      neighbour.nvlink_gb_per_s =
          static_cast<double>(*moved.nvlink_sent + *moved.nvlink_received) / length / 1e9;
    }
    neighbour.processes = gpus_[i].device->processes().value_or({});
    if (is_busy(neighbour) || !neighbour.processes.empty()) found.push_back(neighbour);
  }
  return found;
}

void ProgramWatch::Impl::begin() {
  stop();
  const double cost = thread_seconds();
  nccl_ = {};
  neighbours_ = {};
  neighbours_.not_looked = no_gpus_;
  neighbour_ids_.clear();
  std::erase_if(own_, [](std::int64_t pid) { return !is_alive(pid); });
  unattributed_ = false;
  trees_.clear();
  new_markers_.clear();
  stopping_ = false;
  thread_cost_ = 0.0;
  start_ = Clock::now();
  find_neighbours(true);
  for (WatchedGpu& gpu : gpus_) {
    gpu.health = {};
    gpu.absent = {.nvlink = gpu.silence, .pcie = gpu.silence};
    if (gpu.device) gpu.before = gpu.device->link_counters(&gpu.absent);
  }
  thread_ = std::thread([this] { keep_watching(); });
  begin_cost_ = thread_seconds() - cost;
}

void ProgramWatch::Impl::follow(const std::string& marker) {
  {
    const std::lock_guard lock(mutex_);
    new_markers_.push_back(marker);
  }
  changed_.notify_all();
}

void ProgramWatch::Impl::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ProgramWatch::Impl::keep_watching() {
  const double cost = thread_seconds();
  Clock::time_point next_health = start_ + ticks(kHealthPeriod);
  Clock::time_point next_neighbours = start_ + ticks(kNeighbourPeriod);
  Clock::time_point next_mappings = Clock::time_point::max();
  Span until_mappings = kFirstMappings;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!new_markers_.empty()) {
      for (std::string& marker : new_markers_) trees_.emplace_back(std::move(marker));
      new_markers_.clear();
      until_mappings = kFirstMappings;
      next_mappings = Clock::now() + ticks(until_mappings);
    }
    const Clock::time_point next = std::min({next_health, next_neighbours, next_mappings});
    const bool disturbed =
        changed_.wait_until(lock, next, [this] { return stopping_ || !new_markers_.empty(); });
    if (disturbed) continue;
    lock.unlock();
    const Clock::time_point now = Clock::now();
    if (now >= next_health) {
      sample_health();
      next_health = now + ticks(kHealthPeriod);
    }
    if (now >= next_mappings) {
      nccl_.look(find_processes());
      next_mappings = now + ticks(until_mappings);
      until_mappings = std::min(until_mappings * 2.0, kMappingsPeriod);
    }
    if (now >= next_neighbours) {
      find_neighbours(false);
      next_neighbours = now + ticks(kNeighbourPeriod);
    }
    lock.lock();
  }
  thread_cost_ = thread_seconds() - cost;
}

std::vector<ProcessEntry> ProgramWatch::Impl::find_processes() {
  std::vector<ProcessEntry> all;
  for (ProcessTree& tree : trees_) {
    for (const ProcessEntry& process : tree.find(std::nullopt)) {
      own_.insert(process.id);
      all.push_back(process);
    }
  }
  return all;
}

void ProgramWatch::Impl::sample_health() {
  for (WatchedGpu& gpu : gpus_) {
    if (gpu.device) add_sample(gpu.health, {gpu.device->health()});
  }
}

ProgramWatch::Impl::Listed ProgramWatch::Impl::list_processes_of_gpus() {
  Listed listed;
  std::string reason = no_gpus_;
  for (const WatchedGpu& gpu : gpus_) {
    if (!gpu.device) continue;
    const Reading<std::vector<GpuProcess>> processes = gpu.device->processes();
    if (processes.measured()) listed.emplace_back(gpu.number, processes.value());
    reason = processes.reason();
  }
  if (listed.empty()) {
    neighbours_.not_looked = reason;
  } else {
    ++neighbours_.looks;
  }
  return listed;
}

/// Before a run all that is listed is others'. Later only ids of this namespace tell anything.
void ProgramWatch::Impl::find_neighbours(bool before) {
  const Clock::time_point now = Clock::now();
  const Listed listed = list_processes_of_gpus();
  // After the list: who is on it and not in a tree now was not in one when it was made.
  if (!before) find_processes();
  for (const auto& [gpu, processes] : listed) {
    lists_own_ =
        lists_own_ || std::any_of(processes.begin(), processes.end(),
                                  [&](const GpuProcess& each) { return own_.contains(each.pid); });
  }
  std::set<std::int64_t> arrived;
  for (const auto& [gpu, processes] : listed) {
    GpuNeighbour neighbour{.gpu = gpu};
    for (const GpuProcess& process : processes) {
      if (own_.contains(process.pid) || is_known_neighbour(process.pid)) continue;
      if (!before && !(lists_own_ && is_alive(process.pid))) {
        unattributed_ = unattributed_ || !lists_own_;
        continue;
      }
      neighbour.processes.push_back(process);
      arrived.insert(process.pid);
    }
    if (neighbour.processes.empty()) continue;
    if (!before) neighbour.after_s = Span(now - start_).count();
    neighbours_.seen.push_back(std::move(neighbour));
  }
  neighbour_ids_.merge(arrived);
  neighbours_.cost_s += Span(Clock::now() - now).count();
}

RunEvidence ProgramWatch::Impl::end() {
  stop();
  const double cost = thread_seconds();
  RunEvidence evidence;
  evidence.no_gpus = no_gpus_;
  for (WatchedGpu& gpu : gpus_) {
    AbsentCounters absent{.nvlink = gpu.silence, .pcie = gpu.silence};
    const LinkCounters after = gpu.device ? gpu.device->link_counters(&absent) : LinkCounters{};
    GpuEvidence& found = evidence.gpus.emplace_back();
    found.gpu = gpu.number;
    found.traffic = growth(gpu.before, after);
    found.traffic.pcie_sent = found.traffic.pcie_received = std::nullopt;
    found.pcie_reason = gpu.absent.pcie.empty() ? kPcieNotRead : gpu.absent.pcie;
    if (!found.traffic.nvlink_sent || !found.traffic.nvlink_received) {
      found.nvlink_reason = !gpu.absent.nvlink.empty() ? gpu.absent.nvlink
                            : !absent.nvlink.empty()
                                ? absent.nvlink
                                : "the counter went backwards: the driver was loaded anew";
    }
    found.health = gpu.health;
  }
  find_neighbours(false);
  if (unattributed_ && !lists_own_) neighbours_.not_looked = kUnknownIds;
  evidence.nccl = nccl_.found();
  evidence.processes_looked = nccl_.processes_looked();
  evidence.neighbours = neighbours_;
  evidence.cost_s = begin_cost_ + thread_cost_ + thread_seconds() - cost;
  return evidence;
}

ProgramWatch::ProgramWatch() : impl_(std::make_unique<Impl>()) {}
ProgramWatch::~ProgramWatch() = default;
std::vector<GpuNeighbour> ProgramWatch::watch_idle(Seconds window) const {
  return impl_->watch_idle(window);
}
void ProgramWatch::begin() { impl_->begin(); }
void ProgramWatch::follow(const std::string& marker) { impl_->follow(marker); }
RunEvidence ProgramWatch::end() { return impl_->end(); }

}  // namespace linkgain

#include "linkgain/watch/program_evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <optional>
#include <sstream>
#include <thread>

#include "linkgain/base/text.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/telemetry/nvml.hpp"

namespace linkgain {
namespace {

using Clock = std::chrono::steady_clock;
using Span = std::chrono::duration<double>;

constexpr Span kHealthPeriod{1.0};
constexpr Span kFirstNeighbours{1.0};
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

/// Returns whether a process lives, in this namespace of process ids. /proc may hide those of other
/// users; 0, which kill(2) takes for this process's group, is none.
bool is_alive(std::int64_t pid) {
  return pid > 0 && (::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM);
}

struct WatchedGpu {
  int number = 0;
  std::optional<Nvml::Device> device;
  std::string silence;  ///< why there is no device
  LinkCounters before{};
  AbsentCounters absent{};
  HealthSummary health{};
};

/// A process of the run, and all that it starts.
struct Followed {
  ProcessTree tree;
  std::optional<ProcessEntry> leader;

  std::vector<ProcessEntry> find() {
    if (leader && !is_same(*leader)) leader.reset();
    return tree.find(leader ? std::optional(leader->id) : std::nullopt);
  }

 private:
  static bool is_same(const ProcessEntry& process) {
    const std::optional<ProcessEntry> now = read_process(process.id);
    return now && now->start == process.start;
  }
};

std::vector<WatchedGpu> all_gpus(const Nvml& nvml) {
  std::vector<WatchedGpu> all;
  for (int i = 0; i < nvml.device_count(); ++i) {
    WatchedGpu& gpu = all.emplace_back();
    gpu.number = i;
    gpu.device = nvml.device_by_index(i, &gpu.silence);
  }
  return all;
}

std::vector<TopologyGpu> described(const std::vector<WatchedGpu>& gpus) {
  std::vector<TopologyGpu> entries;
  for (const WatchedGpu& gpu : gpus) {
    TopologyGpu& entry = entries.emplace_back();
    entry.index = gpu.number;
    entry.no_answer = gpu.device ? gpu.device->silence() : gpu.silence;
    if (!gpu.device) continue;
    entry.name = gpu.device->name().value_or("");
    entry.uuid = gpu.device->uuid().value_or("");
    entry.pci_bus_id = gpu.device->pci_bus_id().value_or("");
  }
  return entries;
}

using Positions = std::set<std::size_t>;

bool is_nccl(std::string_view file) {
  constexpr std::string_view kStem = "libnccl";
  if (!file.starts_with(kStem)) return false;
  file.remove_prefix(kStem.size());
  if (file.starts_with(".so")) return true;
  // Wheels that were repaired have a hash in the name: libnccl-0a1b2c3d.so.2.
  const std::size_t end = file.find(".so");
  if (!file.starts_with('-') || end == std::string_view::npos || end < 2) return false;
  return std::all_of(file.begin() + 1, file.begin() + static_cast<std::ptrdiff_t>(end),
                     [](unsigned char c) { return std::isxdigit(c) != 0; });
}

/// Returns the sixth field of a line of maps, which may hold spaces; empty where there is none.
std::string_view mapped_path(std::string_view line) {
  const std::size_t slash = line.find('/');
  return slash == std::string_view::npos ? std::string_view() : line.substr(slash);
}

}  // namespace

class ProgramWatch::Impl {
 public:
  explicit Impl(const std::vector<CudaSettings>& variants)
      : nvml_(Nvml::open(&no_gpus_)), visible_(variants.size()) {
    if (!nvml_) return;
    all_ = all_gpus(*nvml_);
    const std::vector<TopologyGpu> entries = described(all_);
    for (std::size_t i = 0; i < variants.size(); ++i) {
      const std::vector<std::size_t> visible = visible_to_cuda(entries, variants[i]);
      visible_[i].insert(visible.begin(), visible.end());
      visible_to_any_.insert(visible.begin(), visible.end());
    }
    for (const WatchedGpu& gpu : gpus_at(visible_to_any_)) {
      if (gpu.device) numbered_.emplace_back(gpu.number, *gpu.device);
    }
    errors_ = ErrorCounterReader(numbered_);
  }
  ~Impl() { stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::vector<GpuNeighbour> watch_idle(Seconds window) const {
    const std::vector<WatchedGpu> gpus = gpus_at(visible_to_any_);
    std::vector<LinkCounters> before;
    for (const WatchedGpu& gpu : gpus) {
      before.push_back(gpu.device ? gpu.device->link_counters() : LinkCounters{});
    }
    const Clock::time_point start = Clock::now();
    std::vector<std::pair<double, int>> busy(gpus.size());
    do {
      std::this_thread::sleep_for(std::min(kIdleStep, Span{window.value}));
      for (std::size_t i = 0; i < gpus.size(); ++i) {
        const auto percent = gpus[i].device ? gpus[i].device->busy_percent() : Missing{};
        if (!percent.measured()) continue;
        busy[i].first += percent.value();
        ++busy[i].second;
      }
    } while (!gpus.empty() && Span(Clock::now() - start).count() < window.value);
    const double length = Span(Clock::now() - start).count();
    std::vector<GpuNeighbour> found;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      if (!gpus[i].device) continue;
      GpuNeighbour neighbour{.gpu = gpus[i].number};
      if (busy[i].second > 0) neighbour.busy_percent = busy[i].first / busy[i].second;
      const LinkCounters moved = growth(before[i], gpus[i].device->link_counters());
      if (moved.nvlink_sent && moved.nvlink_received && length > 0.0) {
        neighbour.nvlink_gb_per_s =
            static_cast<double>(*moved.nvlink_sent + *moved.nvlink_received) / length / 1e9;
      }
      neighbour.processes = gpus[i].device->processes().value_or({});
      if (is_busy(neighbour) || !neighbour.processes.empty()) found.push_back(neighbour);
    }
    return found;
  }

  ErrorCounts error_counts() { return errors_.read(made_); }
  std::vector<GpuFault> faults() const { return gpu_faults(numbered_, made_); }

  void begin(std::size_t variant) {
    stop();
    const double cost = thread_processor_time().value;
    choose_gpus(variant);
    used_.clear();
    nccl_ = {};
    neighbours_ = {};
    neighbours_.not_looked = no_gpus_;
    neighbour_ids_.clear();
    seen_.clear();
    on_gpus_.clear();
    std::erase_if(own_, [](std::int64_t pid) { return !is_alive(pid); });
    unattributed_ = false;
    trees_.clear();
    new_trees_.clear();
    stopping_ = false;
    thread_cost_ = 0.0;
    start_ = Clock::now();
    find_neighbours(true);
    for (WatchedGpu& gpu : gpus_) {
      gpu.absent = {.nvlink = gpu.silence, .pcie = gpu.silence};
      if (gpu.device) gpu.before = gpu.device->link_counters(&gpu.absent);
    }
    thread_ = std::thread([this] { keep_watching(); });
    begin_cost_ = thread_processor_time().value - cost;
  }

  void follow(const Process& process) {
    Followed followed{.tree = ProcessTree(process.marker()), .leader = read_process(process.id())};
    followed.tree.set_session(process.id());
    {
      const std::lock_guard lock(mutex_);
      new_trees_.push_back(std::move(followed));
    }
    changed_.notify_all();
  }

  RunEvidence end() {
    stop();
    const double cost = thread_processor_time().value;
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
    for (GpuEvidence& gpu : evidence.gpus) gpu.used = used_.contains(gpu.gpu);
    if (unattributed_ && !lists_own_) neighbours_.not_looked = kUnknownIds;
    evidence.nccl = nccl_.found();
    if (nccl_.has_seen_xla()) evidence.engine_says.emplace_back(kXlaCopies);
    evidence.processes_looked = nccl_.processes_looked();
    evidence.neighbours = neighbours_;
    evidence.cost_s = begin_cost_ + thread_cost_ + thread_processor_time().value - cost;
    return evidence;
  }

  std::vector<SeenProcess> processes() const {
    std::vector<SeenProcess> all;
    for (const auto& [id, process] : seen_) {
      all.push_back(process);
      all.back().may_use_p2p = on_gpus_.contains(id) || nccl_.has_mapped(process.entry);
    }
    return all;
  }

 private:
  using Listed = std::vector<std::pair<int, std::vector<GpuProcess>>>;

  std::vector<WatchedGpu> gpus_at(const Positions& positions) const {
    std::vector<WatchedGpu> gpus;
    for (const std::size_t position : positions) gpus.push_back(all_[position]);
    return gpus;
  }

  /// Chooses the GPUs that the variant sees, or says why there are none.
  void choose_gpus(std::size_t variant) {
    if (!nvml_) return;
    gpus_ = gpus_at(visible_.at(variant));
    no_gpus_ = !gpus_.empty() ? ""
               : all_.empty() ? "the driver finds no GPU"
                              : "CUDA_VISIBLE_DEVICES leaves no GPU";
  }

  void stop() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void keep_watching() {
    const double cost = thread_processor_time().value;
    Clock::time_point next_health = start_ + ticks(kHealthPeriod);
    Clock::time_point next_neighbours = start_ + ticks(kFirstNeighbours);
    Span until_neighbours = kFirstNeighbours;
    Clock::time_point next_mappings = Clock::time_point::max();
    Span until_mappings = kFirstMappings;
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (!new_trees_.empty()) {
        std::ranges::move(new_trees_, std::back_inserter(trees_));
        new_trees_.clear();
        until_mappings = kFirstMappings;
        next_mappings = Clock::now() + ticks(until_mappings);
      }
      const Clock::time_point next = std::min({next_health, next_neighbours, next_mappings});
      const bool disturbed =
          changed_.wait_until(lock, next, [this] { return stopping_ || !new_trees_.empty(); });
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
        until_neighbours = std::min(until_neighbours * 2.0, kNeighbourPeriod);
        next_neighbours = now + ticks(until_neighbours);
      }
      lock.lock();
    }
    thread_cost_ = thread_processor_time().value - cost;
  }

  std::vector<ProcessEntry> find_processes() {
    std::vector<ProcessEntry> all;
    for (Followed& each : trees_) {
      for (const ProcessEntry& process : each.find()) {
        own_.insert(process.id);
        all.push_back(process);
        if (&each == &trees_.front()) note_process(process);
      }
    }
    return all;
  }

  /// Keeps an environment that was read where it can be read no longer.
  void note_process(const ProcessEntry& process) {
    SeenProcess now{.entry = process};
    const auto read = [&](const char* name) {
      return read_process_file(fmt::format("/proc/{}/{}", process.id, name));
    };
    now.words = split(read("cmdline"), '\0');
    now.environment = parse_environment(read("environ"));
    SeenProcess& seen = seen_[process.id];
    if (seen.entry.start == process.start) {
      if (!now.environment) now.environment = std::move(seen.environment);
      if (process.state == 'Z') now.words = std::move(seen.words);
    }
    seen = std::move(now);
  }

  void sample_health() {
    for (WatchedGpu& gpu : gpus_) {
      if (gpu.device) add_sample(gpu.health, {gpu.device->health()});
    }
  }

  Listed list_processes_of_gpus() {
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

  /// Finds others' processes. Before a run all that is listed is others'. Later only ids of this
  /// namespace tell anything.
  void find_neighbours(bool before) {
    const Clock::time_point now = Clock::now();
    const Listed listed = list_processes_of_gpus();
    // After the list: who is on it and not in a tree now was not in one when it was made.
    if (!before) find_processes();
    for (const auto& [gpu, processes] : listed) {
      const bool own = std::ranges::any_of(
          processes, [&](const GpuProcess& each) { return own_.contains(each.pid); });
      lists_own_ = lists_own_ || own;
      for (const GpuProcess& each : processes) on_gpus_.insert(each.pid);
      if (own && !before) used_.insert(gpu);
    }
    for (const auto& [gpu, processes] : listed) {
      GpuNeighbour neighbour{.gpu = gpu};
      for (const GpuProcess& process : processes) {
        if (own_.contains(process.pid) || neighbour_ids_.contains({gpu, process.pid})) continue;
        if (!before && !(lists_own_ && is_alive(process.pid))) {
          unattributed_ = unattributed_ || !lists_own_;
          continue;
        }
        neighbour.processes.push_back(process);
        neighbour_ids_.emplace(gpu, process.pid);
      }
      if (neighbour.processes.empty()) continue;
      if (!before) neighbour.after_s = Span(now - start_).count();
      neighbours_.seen.push_back(std::move(neighbour));
    }
    neighbours_.cost_s += Span(Clock::now() - now).count();
  }

  std::string no_gpus_;  ///< why no GPU is watched, in the run or at all
  std::shared_ptr<Nvml> nvml_;
  std::vector<WatchedGpu> all_;     ///< of this host, in nvidia-smi's order
  std::vector<Positions> visible_;  ///< in all_, by variant
  Positions visible_to_any_;
  NumberedGpus numbered_;  ///< those, as far as the driver knows them
  ErrorCounterReader errors_;
  Seconds made_{Span(Clock::now().time_since_epoch()).count()};
  std::set<std::int64_t> own_;  ///< ids of processes that were found in a tree

  // These are one run's, written by begin() and end() while no thread runs, and by the thread.
  Clock::time_point start_{};
  std::vector<WatchedGpu> gpus_;  ///< that its variant sees
  std::map<pid_t, SeenProcess> seen_;
  std::set<std::int64_t> on_gpus_;  ///< ids of processes, as the driver lists them
  std::set<int> used_;              ///< GPUs that a process of the command was listed on
  double begin_cost_ = 0.0;
  double thread_cost_ = 0.0;
  NcclFinder nccl_;
  Neighbours neighbours_;
  std::set<std::pair<int, std::int64_t>> neighbour_ids_;  ///< with the GPU
  bool lists_own_ = false;  ///< the driver's ids are those of this namespace
  bool unattributed_ = false;
  std::vector<Followed> trees_;

  // Shared with the thread.
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<Followed> new_trees_;
  std::thread thread_;
};

ProgramWatch::ProgramWatch(const std::vector<CudaSettings>& variants)
    : impl_(std::make_unique<Impl>(variants)) {}
ProgramWatch::~ProgramWatch() = default;
std::vector<GpuNeighbour> ProgramWatch::watch_idle(Seconds window) const {
  return impl_->watch_idle(window);
}
ErrorCounts ProgramWatch::error_counts() { return impl_->error_counts(); }
std::vector<GpuFault> ProgramWatch::faults() const { return impl_->faults(); }
void ProgramWatch::begin(std::size_t variant) { impl_->begin(variant); }
void ProgramWatch::follow(const Process& process) { impl_->follow(process); }
RunEvidence ProgramWatch::end() { return impl_->end(); }
std::vector<SeenProcess> ProgramWatch::processes() const { return impl_->processes(); }

std::optional<Environment> parse_environment(std::string_view environ) {
  Environment environment;
  while (!environ.empty()) {
    const std::string_view text = environ.substr(0, environ.find('\0'));
    environ.remove_prefix(std::min(environ.size(), text.size() + 1));
    const std::size_t equals = text.find('=');
    if (equals == text.npos) return std::nullopt;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  if (environment.empty()) return std::nullopt;
  return environment;
}

bool has_xla(std::string_view maps) {
  return maps.find("/xla_cuda_plugin.so") != std::string_view::npos;
}

std::vector<MappedNccl> nccl_in_maps(std::string_view maps) {
  constexpr std::string_view kDeleted = " (deleted)";
  std::vector<MappedNccl> found;
  std::istringstream lines{std::string(maps)};
  for (std::string line; std::getline(lines, line);) {
    std::string_view path = mapped_path(line);
    const bool deleted = path.ends_with(kDeleted);
    if (deleted) path.remove_suffix(kDeleted.size());
    if (!is_nccl(path.substr(path.rfind('/') + 1))) continue;
    // A library has a line for each of its segments.
    MappedNccl library{.path = std::string(path), .version{}, .deleted = deleted};
    if (std::ranges::find(found, library) == found.end()) found.push_back(std::move(library));
  }
  return found;
}

void NcclFinder::look(const std::vector<ProcessEntry>& processes) {
  constexpr int kLongestPause = 7;
  for (const ProcessEntry& process : processes) {
    const Identity identity{process.id, process.start};
    const auto known = looked_.find(identity);
    if (known != looked_.end() && known->second.left > 0) {
      --known->second.left;
      continue;
    }
    const std::string maps = read_process_file(fmt::format("/proc/{}/maps", process.id));
    if (maps.empty()) continue;
    has_seen_xla_ = has_seen_xla_ || has_xla(maps);
    Looked& looked = looked_[identity];
    for (const MappedNccl& found : nccl_in_maps(maps)) {
      if (looked.paths.insert(found.path).second) count(process.id, found);
    }
    if (looked.paths.empty()) continue;
    looked.left = looked.pause;
    looked.pause = std::min(2 * looked.pause + 1, kLongestPause);
  }
}

bool NcclFinder::has_mapped(const ProcessEntry& process) const {
  const auto found = looked_.find({process.id, process.start});
  return found != looked_.end() && !found->second.paths.empty();
}

void NcclFinder::count(pid_t process, const MappedNccl& found) {
  MappedNccl& library = libraries_.try_emplace({found.path, found.deleted}, found).first->second;
  if (library.version.empty() && !found.deleted) {
    // By its own root, for a process in a container has other files, unless it has ended.
    library.version = nccl_build_of(fmt::format("/proc/{}/root{}", process, found.path));
    if (library.version.empty()) library.version = nccl_build_of(found.path);
  }
  ++library.processes;
}

std::vector<MappedNccl> NcclFinder::found() const {
  std::vector<MappedNccl> all;
  for (const auto& [key, library] : libraries_) all.push_back(library);
  return all;
}

}  // namespace linkgain

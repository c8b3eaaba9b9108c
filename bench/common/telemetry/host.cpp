#include "linkgain/telemetry/host.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/process_entry.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/hardware/pci.hpp"

namespace linkgain {
namespace {

/// Returns the value of the first line "key<blanks>: value" of a /proc file.
std::optional<std::string> field_of(const std::filesystem::path& file, const std::string& key) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? std::string() : line.substr(start);
  }
  return std::nullopt;
}

std::optional<std::int64_t> smaller(std::optional<std::int64_t> a, std::optional<std::int64_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

std::optional<int> read_number(const std::string& path) {
  std::ifstream file(path);
  int number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

/// Returns what a cgroup's limit of processes leaves; absent where it has none ("max").
std::optional<std::int64_t> room_of_group(const std::filesystem::path& folder) {
  std::int64_t most = 0;
  std::int64_t now = 0;
  std::ifstream limit(folder / "pids.max");
  std::ifstream current(folder / "pids.current");
  if (!(limit >> most) || !(current >> now) || most < 0 || now < 0) return std::nullopt;
  return std::max<std::int64_t>(0, most - now);
}

/// Reads "max 100000" or "150000 100000" of version 2, else the two files of version 1. Missing
/// without a reason where the group has neither.
Reading<double> processors_of_group(const std::filesystem::path& folder) {
  std::string quota;
  double period = 0.0;
  std::ifstream both(folder / "cpu.max");
  if (!(both >> quota >> period)) {
    std::ifstream quota_file(folder / "cpu.cfs_quota_us");
    std::ifstream period_file(folder / "cpu.cfs_period_us");
    if (!(quota_file >> quota) || !(period_file >> period)) return Missing{};
  }
  const double used = std::strtod(quota.c_str(), nullptr);  // 0 of "max"
  if (used <= 0.0 || period <= 0.0) return Missing{"unlimited"};
  return used / period;
}

/// Returns the folders of the control groups that this process is in, for one controller: its own
/// and all above, whose limits hold as well.
std::vector<std::filesystem::path> own_groups(const std::filesystem::path& proc,
                                              const std::filesystem::path& sys,
                                              const std::string& controller) {
  std::vector<std::filesystem::path> folders;
  std::ifstream groups(proc / "self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // "0::/user.slice" of version 2, "4:cpu,cpuacct:/user.slice" of version 1.
    const std::vector<std::string> parts = split(line, ':');
    if (parts.size() < 3) continue;
    const std::vector<std::string> controllers = split(parts[1], ',');
    const bool is_second_version = parts[1].empty();
    if (!is_second_version && std::ranges::find(controllers, controller) == controllers.end()) {
      continue;
    }
    const std::filesystem::path top = sys / "fs/cgroup" / (is_second_version ? "" : controller);
    // In a container the path may be the host's, of which nothing but the top is there.
    std::filesystem::path below = std::filesystem::path(parts[2]).relative_path();
    for (; !below.empty(); below = below.parent_path()) folders.push_back(top / below);
    folders.push_back(top);
  }
  return folders;
}

/// Returns threads of all of this user's processes.
std::int64_t own_threads() {
  std::int64_t threads = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    struct stat info {};
    if (::stat(entry.path().c_str(), &info) != 0 || info.st_uid != ::getuid()) continue;
    // Beside ".", ".." each thread is a folder.
    struct stat tasks {};
    if (::stat((entry.path() / "task").c_str(), &tasks) != 0) continue;
    threads += static_cast<std::int64_t>(tasks.st_nlink) - 2;
  }
  return threads;
}

/// Reads "some avg10=0.00 avg60=0.00 avg300=0.00 total=123456", in microseconds.
std::optional<double> read_pressure(const std::filesystem::path& proc) {
  constexpr std::string_view kTotal = "total=";
  std::ifstream file(proc / "pressure/cpu");
  for (std::string line; std::getline(file, line);) {
    const std::size_t place = line.find(kTotal);
    if (!line.starts_with("some ") || place == std::string::npos) continue;
    std::istringstream number(line.substr(place + kTotal.size()));
    double microseconds = 0.0;
    if (number >> microseconds) return microseconds * 1e-6;
  }
  return std::nullopt;
}

/// Reads the lines "cpu3 user nice system idle iowait irq softirq steal guest guest_nice" of
/// processors that this process may use; guests' time is in user and nice too.
void read_processors(const std::filesystem::path& proc, HostLoad& load) {
  enum Column { user, nice, system, idle, iowait, irq, softirq, steal, kColumns };
  cpu_set_t usable;
  CPU_ZERO(&usable);
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0) return;
  std::ifstream file(proc / "stat");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (!name.starts_with("cpu")) continue;
    const auto number = whole_number<std::size_t>(std::string_view(name).substr(3));
    if (!number || *number >= CPU_SETSIZE || !CPU_ISSET(*number, &usable)) continue;
    std::array<double, kColumns> ticks{};
    for (double& each : ticks) words >> each;
    const double busy = ticks[user] + ticks[nice] + ticks[system] + ticks[irq] + ticks[softirq];
    load.busy_s = load.busy_s.value_or(0.0) + seconds_of_ticks(busy).value;
    load.stolen_s = load.stolen_s.value_or(0.0) + seconds_of_ticks(ticks[steal]).value;
  }
}

std::int64_t involuntary_switches(const std::filesystem::path& process) {
  const std::string switches =
      field_of(process / "status", "nonvoluntary_ctxt_switches").value_or("");
  return whole_number<std::int64_t>(switches).value_or(0);
}

struct FreeKernelSet {
  void operator()(cpu_set_t* set) const noexcept { CPU_FREE(set); }
};
using KernelSet = std::unique_ptr<cpu_set_t, FreeKernelSet>;

constexpr int kFirstCapacity = 1024;
constexpr int kLargestCapacity = 1 << 20;

KernelSet allocate(int cpus) {
  KernelSet set(CPU_ALLOC(static_cast<std::size_t>(cpus)));
  if (!set) {
    throw std::bad_alloc();
  }
  return set;
}

std::optional<CpuSet> cpus_near(const std::string& pci_bus_id) {
  if (sysfs_pci_name(pci_bus_id).empty()) {
    return std::nullopt;
  }
  std::ifstream file(pci_folder("/sys", pci_bus_id) / "local_cpulist");
  std::string list;
  return std::getline(file, list) ? CpuSet::from_list(list) : std::nullopt;
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "unknown";
}

Machine describe_host() {
  Machine machine;
  machine.host = host_name();
  utsname kernel{};
  if (::uname(&kernel) == 0) machine.kernel = std::string(kernel.sysname) + " " + kernel.release;
  machine.processor = field_of("/proc/cpuinfo", "model name").value_or("unknown");
  machine.processors = usable_processors();
  return machine;
}

bool is_executable(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0;
}

std::optional<std::filesystem::path> find_program(std::string_view name,
                                                  const Environment& environment) {
  const auto path = environment.find("PATH");
  const std::string folders = path != environment.end() ? path->second : "/bin:/usr/bin";
  for (const std::string& folder : split(folders, ':')) {
    const auto candidate = std::filesystem::path(folder.empty() ? "." : folder) / name;
    if (is_executable(candidate)) return candidate;
  }
  return std::nullopt;
}

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

int usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  std::set<std::pair<int, int>> cores;  // package and core; a thread of an unknown core by itself
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const std::string topology = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", cpu);
    const auto package = read_number(topology + "physical_package_id");
    const auto core = read_number(topology + "core_id");
    cores.insert(package && core ? std::pair(*package, *core) : std::pair(-1 - cpu, cpu));
  }
  return cores.empty() ? 1 : static_cast<int>(cores.size());
}

std::optional<std::int64_t> available_memory() {
  const auto text = field_of("/proc/meminfo", "MemAvailable");
  if (!text) return std::nullopt;
  const auto kib = whole_number<std::int64_t>(text->substr(0, text->find(' ')));
  return kib ? std::optional(*kib * 1024) : std::nullopt;
}

std::optional<std::int64_t> free_shared_memory() {
  struct statvfs info {};
  if (::statvfs("/dev/shm", &info) != 0) return std::nullopt;
  return static_cast<std::int64_t>(info.f_bavail) * static_cast<std::int64_t>(info.f_frsize);
}

std::optional<std::int64_t> cgroup_process_room(const std::filesystem::path& root) {
  std::optional<std::int64_t> room;
  for (const auto& folder : own_groups(root / "proc", root / "sys", "pids")) {
    room = smaller(room, room_of_group(folder));
  }
  return room;
}

Reading<double> cgroup_processors(const std::filesystem::path& proc,
                                  const std::filesystem::path& sys) {
  Reading<double> least = Missing{"the control group does not say"};
  for (const auto& folder : own_groups(proc, sys, "cpu")) {
    const Reading<double> own = processors_of_group(folder);
    if (own.measured() && least.measured()) {
      least = std::min(least.value(), own.value());
    } else if (own.measured() || (!least.measured() && !own.reason().empty())) {
      least = own;
    }
  }
  return least;
}

std::optional<std::int64_t> startable_processes() {
  std::optional<std::int64_t> room = cgroup_process_room();
  rlimit limit{};
  const bool bound =
      ::geteuid() != 0 && ::getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  if (bound) room = smaller(room, static_cast<std::int64_t>(limit.rlim_cur) - own_threads());
  return room;
}

std::optional<std::int64_t> last_level_cache() {
  std::optional<std::int64_t> largest;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                       "/size");
    std::string text;
    if (!(file >> text)) break;
    largest = std::max(largest.value_or(0), parse_bytes(text).value);
  }
  return largest;
}

std::string utc_now(bool compact) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), compact ? "%Y%m%dT%H%M%SZ" : "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

HostLoad read_host_load(const std::vector<std::int64_t>& pids, const std::filesystem::path& proc) {
  HostLoad load;
  load.pressure_s = read_pressure(proc);
  read_processors(proc, load);
  for (const std::int64_t pid : pids) {
    if (const auto process = read_process(static_cast<pid_t>(pid), proc)) {
      load.own_s += process->worked.value;
    }
    load.involuntary_switches += involuntary_switches(proc / std::to_string(pid));
  }
  return load;
}

std::optional<CpuSet> CpuSet::from_list(const std::string& text) {
  CpuSet set;
  for (const std::string& range : split(text.substr(0, text.find('\n')), ',')) {
    const std::size_t dash = range.find('-');
    const auto first = whole_number<int>(std::string_view(range).substr(0, dash));
    const auto last = dash == std::string::npos
                          ? first
                          : whole_number<int>(std::string_view(range).substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kLargestCapacity) {
      return std::nullopt;
    }
    for (int cpu = *first; cpu <= *last; ++cpu) set.cpus_.insert(cpu);
  }
  return set.empty() ? std::nullopt : std::optional(std::move(set));
}

CpuSet CpuSet::of_this_thread() {
  for (int cpus = kFirstCapacity; cpus <= kLargestCapacity; cpus *= 2) {
    const KernelSet kernel_set = allocate(cpus);
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    CPU_ZERO_S(bytes, kernel_set.get());
    if (sched_getaffinity(0, bytes, kernel_set.get()) == 0) {
      CpuSet set;
      for (int cpu = 0; cpu < cpus; ++cpu) {
        if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, kernel_set.get())) {
          set.cpus_.insert(cpu);
        }
      }
      return set;
    }
    if (errno != EINVAL) {  // EINVAL: the kernel's sets are larger than ours
      break;
    }
  }
  throw MachineError("the kernel does not report which CPUs this process may use");
}

CpuSet CpuSet::only(int index) const {
  const int count = static_cast<int>(cpus_.size());
  CpuSet single;
  single.cpus_.insert(*std::next(cpus_.begin(), (index % count + count) % count));
  return single;
}

CpuSet CpuSet::intersected_with(const CpuSet& other) const {
  CpuSet result;
  std::ranges::set_intersection(cpus_, other.cpus_,
                                std::inserter(result.cpus_, result.cpus_.end()));
  return result;
}

std::string CpuSet::list() const {
  std::string text;
  for (auto cpu = cpus_.begin(); cpu != cpus_.end();) {
    const int first = *cpu;
    int last = first;
    while (++cpu != cpus_.end() && *cpu == last + 1) last = *cpu;
    text += fmt::format("{}{}", text.empty() ? "" : ",", first);
    if (last != first) text += fmt::format("-{}", last);
  }
  return text;
}

bool CpuSet::bind_process() const {
  const int cpus = *cpus_.rbegin() + 1;
  const KernelSet kernel_set = allocate(cpus);
  const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
  CPU_ZERO_S(bytes, kernel_set.get());
  for (const int cpu : cpus_) {
    CPU_SET_S(static_cast<std::size_t>(cpu), bytes, kernel_set.get());
  }
  if (sched_setaffinity(0, bytes, kernel_set.get()) != 0) {
    return false;
  }
  std::error_code error;
  for (std::filesystem::directory_iterator task("/proc/self/task", error), end;
       !error && task != end; task.increment(error)) {
    // A thread may have ended since it was listed: then there is nothing to bind.
    sched_setaffinity(std::atoi(task->path().filename().c_str()), bytes, kernel_set.get());
  }
  return true;
}

std::string bind_within_allowed(const CpuSet& wanted) {
  const CpuSet allowed = CpuSet::of_this_thread();
  const CpuSet overlap = allowed.intersected_with(wanted);
  return !overlap.empty() && overlap.bind_process() ? overlap.list() : allowed.list();
}

std::string bind_near_pci_device(const std::string& pci_bus_id) {
  const std::optional<CpuSet> near = cpus_near(pci_bus_id);
  return near.has_value() ? bind_within_allowed(*near) : CpuSet::of_this_thread().list();
}

std::string bind_to_cpu(int index) {
  return bind_within_allowed(CpuSet::of_this_thread().only(index));
}

}  // namespace linkgain

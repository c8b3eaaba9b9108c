#include "linkgain/telemetry/affinity.hpp"

#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <sched.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/telemetry/pci.hpp"

namespace linkgain {
namespace {

struct FreeKernelSet {
  void operator()(cpu_set_t* set) const noexcept { CPU_FREE(set); }
};
using KernelSet = std::unique_ptr<cpu_set_t, FreeKernelSet>;

constexpr int kFirstCapacity = 1024;
constexpr int kLargestCapacity = 1 << 20;

// hwloc's conversions to and from cpu_set_t take a topology but have no use for it.
constexpr hwloc_topology_t kNoTopology = nullptr;

KernelSet allocate(int cpus) {
  KernelSet set(CPU_ALLOC(static_cast<std::size_t>(cpus)));
  if (!set) {
    throw std::bad_alloc();
  }
  return set;
}

}  // namespace

CpuSet::CpuSet() : bitmap_(hwloc_bitmap_alloc()) {
  if (bitmap_ == nullptr) {
    throw std::bad_alloc();
  }
}

CpuSet::CpuSet(CpuSet&& other) noexcept : bitmap_(std::exchange(other.bitmap_, nullptr)) {}

CpuSet& CpuSet::operator=(CpuSet&& other) noexcept {
  std::swap(bitmap_, other.bitmap_);
  return *this;
}

CpuSet::~CpuSet() { hwloc_bitmap_free(bitmap_); }

std::optional<CpuSet> CpuSet::from_list(const std::string& text) {
  std::string list = text;
  while (!list.empty() && std::isspace(static_cast<unsigned char>(list.back())) != 0) {
    list.pop_back();
  }
  CpuSet set;
  if (list.empty() || list.find_first_not_of("0123456789,-") != std::string::npos ||
      list.back() == '-' ||  // hwloc's "to infinity", which the kernel does not write
      hwloc_bitmap_list_sscanf(set.bitmap_, list.c_str()) != 0 || set.empty()) {
    return std::nullopt;
  }
  return set;
}

CpuSet CpuSet::of_this_thread() {
  for (int cpus = kFirstCapacity; cpus <= kLargestCapacity; cpus *= 2) {
    const KernelSet kernel_set = allocate(cpus);
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    CPU_ZERO_S(bytes, kernel_set.get());
    if (sched_getaffinity(0, bytes, kernel_set.get()) == 0) {
      CpuSet set;
      hwloc_cpuset_from_glibc_sched_affinity(kNoTopology, set.bitmap_, kernel_set.get(), bytes);
      return set;
    }
    if (errno != EINVAL) {  // EINVAL: the kernel's sets are larger than ours
      break;
    }
  }
  throw MachineError("the kernel does not report which CPUs this process may use");
}

bool CpuSet::empty() const { return hwloc_bitmap_iszero(bitmap_) != 0; }

CpuSet CpuSet::only(int index) const {
  const int count = hwloc_bitmap_weight(bitmap_);
  const int skipped = (index % count + count) % count;
  int cpu = hwloc_bitmap_first(bitmap_);
  for (int i = 0; i < skipped; ++i) {
    cpu = hwloc_bitmap_next(bitmap_, cpu);
  }
  CpuSet single;
  hwloc_bitmap_only(single.bitmap_, static_cast<unsigned>(cpu));
  return single;
}

CpuSet CpuSet::intersected_with(const CpuSet& other) const {
  CpuSet result;
  hwloc_bitmap_and(result.bitmap_, bitmap_, other.bitmap_);
  return result;
}

std::string CpuSet::list() const {
  char* text = nullptr;
  if (hwloc_bitmap_list_asprintf(&text, bitmap_) < 0) {
    throw std::bad_alloc();
  }
  const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
  return text;
}

bool CpuSet::bind_process() const {
  const int cpus = hwloc_bitmap_last(bitmap_) + 1;
  const KernelSet kernel_set = allocate(cpus);
  const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
  hwloc_cpuset_to_glibc_sched_affinity(kNoTopology, bitmap_, kernel_set.get(), bytes);
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

namespace {

std::optional<CpuSet> cpus_near(const std::string& pci_bus_id) {
  if (sysfs_pci_name(pci_bus_id).empty()) {
    return std::nullopt;
  }
  std::ifstream file(pci_folder("/sys", pci_bus_id) / "local_cpulist");
  std::string list;
  return std::getline(file, list) ? CpuSet::from_list(list) : std::nullopt;
}

}  // namespace

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

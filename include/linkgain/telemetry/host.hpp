#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/hardware/machine.hpp"

namespace linkgain {

std::string host_name();

/// Describes host, kernel, processor and processors; software, ranks and links are left empty.
Machine describe_host();

bool is_executable(const std::filesystem::path& path);

/// Returns the executable file of this name on the environment's PATH; on "/bin:/usr/bin" where
/// that is not set. An empty folder of PATH is the one that this process is in.
std::optional<std::filesystem::path> find_program(std::string_view name,
                                                  const Environment& environment);

/// Returns processors this process may run on.
int usable_processors();

/// Counts the physical cores that this process may run on, at least 1. Where the kernel does not
/// report cores from hardware threads each thread counts.
int usable_cores();

/// Returns bytes of memory the kernel thinks can be used without swapping; absent where it does not
/// say.
std::optional<std::int64_t> available_memory();

/// Returns bytes that are free in /dev/shm; absent where there is none.
std::optional<std::int64_t> free_shared_memory();

/// Returns processes and threads that the pids controllers of this process's cgroups still allow;
/// absent where none has a limit. `root` is that of the file system.
std::optional<std::int64_t> cgroup_process_room(const std::filesystem::path& root = "/");

/// Returns processors' worth of time that this process's cgroups have, the least of its own and
/// those above; missing where none has a limit.
Reading<double> cgroup_processors(const std::filesystem::path& proc = "/proc",
                                  const std::filesystem::path& sys = "/sys");

/// Returns processes and threads that this user may still start here, by RLIMIT_NPROC (which binds
/// all but root) and cgroup_process_room(); absent where nothing limits them.
std::optional<std::int64_t> startable_processes();

/// Returns bytes of the largest data cache of processor 0; absent where the kernel does not say.
std::optional<std::int64_t> last_level_cache();

/// Returns the time now in UTC: "2026-11-20T16:40:00Z", or with `compact` "20261120T164000Z" for
/// file names.
std::string utc_now(bool compact);

/// What the kernel has counted so far; only differences of two readings mean something. Absent is
/// what it does not report.
struct HostLoad {
  /// Seconds in which some process waited for a processor (/proc/pressure/cpu, "some").
  std::optional<double> pressure_s{};
  /// The seconds in which the processors that this process may use worked, together and for
  /// whomever (/proc/stat), and those that a hypervisor gave to others.
  std::optional<double> busy_s{};
  std::optional<double> stolen_s{};
  /// The processor time of the processes asked for, together, and how often one had to leave its
  /// processor though it wanted to go on.
  double own_s = 0.0;
  std::int64_t involuntary_switches = 0;
};

/// Reads the load; `pids` are of this host's processes, and one that is gone counts as nothing.
/// `proc` is where /proc is. About 40 us for each process.
HostLoad read_host_load(const std::vector<std::int64_t>& pids,
                        const std::filesystem::path& proc = "/proc");

/// A set of CPUs by the kernel's numbers.
class CpuSet {
 public:
  /// Reads the kernel's list form, "0-15,32-47"; nothing if the text is none or names no CPU.
  static std::optional<CpuSet> from_list(const std::string& text);
  /// Returns the CPUs that the calling thread may use. Throws MachineError where the kernel does
  /// not report.
  static CpuSet of_this_thread();

  bool empty() const { return cpus_.empty(); }
  /// Returns a set of its `index`-th CPU alone, modulo their count. The set must not be empty.
  CpuSet only(int index) const;
  CpuSet intersected_with(const CpuSet& other) const;
  std::string list() const;

  /// Binds every thread of this process, so that later threads inherit it. Where the kernel
  /// refuses, the threads stay bound as they were and the result is false. The set must not be
  /// empty.
  bool bind_process() const;

 private:
  CpuSet() = default;
  std::set<int> cpus_;
};

/// Binds this process to those of the CPUs that it may use already; where there are none, or the
/// kernel refuses, the binding stays. Returns the list then in force.
std::string bind_within_allowed(const CpuSet& wanted);

/// Binds this process to the CPUs near a PCI device as the kernel names them ("0000:00:06.0"),
/// within the CPUs it may use already. Returns the CPU list then in force ("0-15"). Where the
/// kernel tells nothing or nothing overlaps, the binding stays as it was.
std::string bind_near_pci_device(const std::string& pci_bus_id);

/// Binds this process to one of its allowed CPUs, the `index`-th modulo their count. Returns as
/// above.
std::string bind_to_cpu(int index);

}  // namespace linkgain

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace linkgain {

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

}  // namespace linkgain

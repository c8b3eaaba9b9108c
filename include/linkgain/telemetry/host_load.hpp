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
  /// Of the processors that this process may use, together (/proc/stat): seconds in which they
  /// worked, for whomever, and those that a hypervisor gave to others.
  std::optional<double> busy_s{};
  std::optional<double> stolen_s{};
  /// Of the processes asked for, together: processor time, and how often one had to leave its
  /// processor though it wanted to go on.
  double own_s = 0.0;
  std::int64_t involuntary_switches = 0;
};

/// `pids` are of this host's processes; one that is gone counts as nothing. `proc` is where /proc
/// is. About 40 us for each process.
HostLoad read_host_load(const std::vector<std::int64_t>& pids,
                        const std::filesystem::path& proc = "/proc");

}  // namespace linkgain

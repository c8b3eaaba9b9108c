#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace linkgain {

/// A process that has a compute context on a GPU.
struct GpuProcess {
  std::int64_t pid = 0;
  std::string name{};  ///< "python3"; empty where the driver does not say
  std::optional<std::int64_t> memory_bytes{};
  bool operator==(const GpuProcess&) const = default;
};

/// What the driver says of the use of a GPU at one look.
struct GpuUse {
  int gpu = 0;  ///< as CUDA numbers the visible ones; of `doctor` as nvidia-smi does
  /// Percent of the driver's last sampling period (1/6 to 1 s) in which some kernel ran.
  std::optional<double> busy_percent{};
  /// Those of all users; empty also in a container whose driver shows none of them.
  std::optional<std::vector<GpuProcess>> processes{};
  std::optional<std::int64_t> nvlink_bytes{};  ///< sent and received so far
  bool operator==(const GpuUse&) const = default;
};

/// From here on a GPU that none of our jobs works on counts as busy. An idle one is at 0 %, one
/// that draws a desktop at a few percent; kernels of a process that keeps it busy for a tenth of
/// the time delay about every tenth operation.
inline constexpr double kBusyPercent = 10.0;
/// From here on an NVLink that none of our jobs uses does: an idle one moves nothing.
inline constexpr double kBusyNvlinkGbPerSecond = 0.1;

/// Work of others on one GPU of a run, as it was seen when it changed.
struct GpuNeighbour {
  int gpu = 0;
  std::optional<double> after_s{};  ///< since the run began; absent: before it started anything
  std::optional<double> busy_percent{};  ///< while no job of the run worked; absent: not measured
  std::optional<double> nvlink_gb_per_s{};  ///< the same of both directions together
  std::vector<GpuProcess> processes{};      ///< those of others, as far as the driver shows them
  bool operator==(const GpuNeighbour&) const = default;
};

/// Returns whether it had the GPU or its links work, instead of only holding memory.
bool is_busy(const GpuNeighbour& neighbour);

/// Says "GPU 0 was 97 % busy before anything was started".
std::string work_text(const GpuNeighbour& neighbour);

/// Says whose it was, too: "GPU 0 was 97 % busy before anything was started (pid 4711 python3)".
std::string neighbour_text(const GpuNeighbour& neighbour);

/// Returns "pid 4711 python3, pid 12 and 3 more"; empty of none.
std::string processes_text(const std::vector<GpuProcess>& processes);

/// What is to be done about it.
inline constexpr const char* kNeighbourAdvice =
    "end it or wait for its end (nvidia-smi lists what uses the GPUs) and run again; under Slurm "
    "ask for whole nodes with --exclusive";

/// What a run saw of others' work on its GPUs.
struct Neighbours {
  int looks = 0;             ///< at the list of processes
  int idle_windows = 0;      ///< in which utilization was read while no job worked
  double cost_s = 0.0;       ///< of the run's wall time, all of it
  std::string not_looked{};  ///< why nothing, or not all, was looked at
  std::vector<GpuNeighbour> seen{};
  bool operator==(const Neighbours&) const = default;
};

}  // namespace linkgain

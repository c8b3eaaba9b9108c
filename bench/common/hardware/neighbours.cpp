#include "linkgain/hardware/neighbours.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

namespace linkgain {
namespace {

std::string memory_of(const std::vector<GpuProcess>& processes) {
  constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;
  std::int64_t bytes = 0;
  for (const GpuProcess& process : processes) bytes += process.memory_bytes.value_or(0);
  return bytes == 0 ? std::string()
                    : fmt::format(", {:.1f} GiB", static_cast<double>(bytes) / kGibibyte);
}

/// Returns " before anything was started", " 12 s after the start, while no job of this run was
/// active"
std::string when(const GpuNeighbour& neighbour) {
  if (!neighbour.after_s) return " before anything was started";
  return fmt::format(" {:.0f} s after the start, while no job of this run was active",
                     *neighbour.after_s);
}

}  // namespace

bool is_busy(const GpuNeighbour& neighbour) {
  return neighbour.busy_percent.value_or(0.0) >= kBusyPercent ||
         neighbour.nvlink_gb_per_s.value_or(0.0) >= kBusyNvlinkGbPerSecond;
}

std::string processes_text(const std::vector<GpuProcess>& processes) {
  constexpr std::size_t kNamed = 4;
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::min(kNamed, processes.size()); ++i) {
    words.push_back(fmt::format("pid {}{}{}", processes[i].pid,
                                processes[i].name.empty() ? "" : " ", processes[i].name));
  }
  const std::size_t rest = processes.size() - words.size();
  return fmt::format("{}{}", fmt::join(words, ", "),
                     rest == 0 ? "" : fmt::format(" and {} more", rest));
}

std::string work_text(const GpuNeighbour& neighbour) {
  if (!is_busy(neighbour)) {
    return fmt::format("GPU {} was held{} by another process", neighbour.gpu,
                       neighbour.after_s
                           ? fmt::format(" {:.0f} s after the start", *neighbour.after_s)
                           : when(neighbour));
  }
  std::vector<std::string> work;
  if (neighbour.busy_percent.value_or(0.0) >= kBusyPercent) {
    work.push_back(fmt::format("was {:.0f} % busy", *neighbour.busy_percent));
  }
  if (neighbour.nvlink_gb_per_s.value_or(0.0) >= kBusyNvlinkGbPerSecond) {
    work.push_back(fmt::format("moved {:.1f} GB/s over NVLink", *neighbour.nvlink_gb_per_s));
  }
  return fmt::format("GPU {} {}{}", neighbour.gpu, fmt::join(work, " and "), when(neighbour));
}

std::string neighbour_text(const GpuNeighbour& neighbour) {
  return fmt::format("{} ({}{})", work_text(neighbour),
                     neighbour.processes.empty() ? "its processes are not shown here"
                                                 : processes_text(neighbour.processes),
                     is_busy(neighbour) ? "" : memory_of(neighbour.processes));
}

}  // namespace linkgain

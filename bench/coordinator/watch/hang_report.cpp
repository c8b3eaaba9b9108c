#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "linkgain/process/process.hpp"
#include "linkgain/telemetry/nvml.hpp"
#include "linkgain/watch/program_evidence.hpp"

namespace linkgain {
namespace {

constexpr Seconds kWindow{0.5};
constexpr std::size_t kMostCharacters = 120;

std::string file_of(pid_t id, std::string_view name) {
  return read_process_file(fmt::format("/proc/{}/{}", id, name));
}

std::string command_of(pid_t id) {
  std::string command = file_of(id, "cmdline");
  if (command.empty()) command = file_of(id, "comm");
  while (!command.empty() && (command.back() == '\0' || command.back() == '\n')) {
    command.pop_back();
  }
  std::replace_if(
      command.begin(), command.end(), [](unsigned char c) { return c < ' '; }, ' ');
  if (command.size() > kMostCharacters) command = command.substr(0, kMostCharacters - 3) + "...";
  return command;
}

std::string waits_in(pid_t id) {
  const std::string name = file_of(id, "wchan");
  return name == "0" ? std::string() : name;
}

/// Finds who uses what: fills in `gpus` of the processes, and the report's own.
void look_at_gpus(HangReport& report) {
  const std::shared_ptr<Nvml> nvml = Nvml::open(&report.no_gpus);
  if (!nvml) return;
  report.no_gpus.clear();
  std::vector<GpuUse> used;
  for (int i = 0; i < nvml->device_count(); ++i) {
    const std::optional<Nvml::Device> device = nvml->device_by_index(i);
    if (!device) continue;
    GpuUse& use = report.gpus.emplace_back();
    use.gpu = i;
    use.busy_percent = device->busy_percent().optional();
    use.processes = device->processes().optional();
    bool is_used = false;
    for (const GpuProcess& holder : use.processes.value_or(std::vector<GpuProcess>{})) {
      for (HungProcess& process : report.processes) {
        if (process.id != holder.pid) continue;
        process.gpus.push_back(i);
        is_used = true;
      }
    }
    if (is_used) used.push_back(use);
  }
  if (!used.empty()) report.gpus = std::move(used);
}

std::string state_of(const HungProcess& process) {
  const std::string place = process.waits_in.empty() ? "" : " in " + process.waits_in;
  switch (process.state) {
    case 'R':
      return "running";
    case 'S':
      return "asleep" + place;
    case 'D':
      return "in uninterruptible sleep" + place;
    case 'T':
    case 't':
      return "stopped";
    case 'Z':
      return "a zombie";
    default:
      return fmt::format("in state {}", process.state);
  }
}

}  // namespace

HangReport look_at_hang(std::vector<ProcessEntry> all) {
  HangReport report;
  // Anew, since the search may have taken long.
  for (ProcessEntry& each : all) each.worked = read_process(each.id).value_or(each).worked;
  const auto start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(kWindow.value));
  const std::chrono::duration<double> length = std::chrono::steady_clock::now() - start;
  for (const ProcessEntry& before : all) {
    HungProcess& process = report.processes.emplace_back();
    process.id = before.id;
    process.command = command_of(process.id);
    process.state = before.state;
    process.waits_in = waits_in(process.id);
    const double worked = read_process(process.id).value_or(before).worked.value;
    process.processors = std::max(0.0, worked - before.worked.value) / length.count();
  }
  look_at_gpus(report);
  return report;
}

std::vector<std::string> hang_lines(const HangReport& report) {
  std::vector<std::string> lines;
  for (const HungProcess& process : report.processes) {
    lines.push_back(fmt::format(
        "pid {} ({}) was {}, kept {:.1f} processors busy{}", process.id, process.command,
        state_of(process), process.processors,
        process.gpus.empty() ? "" : fmt::format(", on GPU {}", fmt::join(process.gpus, ", "))));
  }
  for (const GpuUse& use : report.gpus) {
    if (use.busy_percent) {
      lines.push_back(fmt::format("GPU {} was {:.0f} % busy", use.gpu, *use.busy_percent));
    }
  }
  if (!report.no_gpus.empty()) {
    lines.push_back(fmt::format("GPUs were not looked at: {}", report.no_gpus));
  }
  const bool on_gpus = std::ranges::any_of(
      report.processes, [](const HungProcess& process) { return !process.gpus.empty(); });
  if (on_gpus) {
    lines.emplace_back(
        "to see which rank is behind, run ncclras -v (NCCL 2.24 or later) while the program hangs");
  }
  return lines;
}

}  // namespace linkgain

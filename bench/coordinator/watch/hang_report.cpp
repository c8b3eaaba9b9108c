#include "linkgain/watch/hang_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <sstream>
#include <thread>

#include "linkgain/process/process.hpp"
#include "linkgain/telemetry/nvml.hpp"

namespace linkgain {
namespace {

constexpr Seconds kWindow{0.5};
constexpr Seconds kRasLimit{3.0};
constexpr const char* kRasAddress = "localhost:28028";
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

/// Inodes of the sockets that listen on a port of this network namespace.
std::set<std::string> listeners_on(const std::string& port) {
  std::set<std::string> inodes;
  const std::string wanted = fmt::format(":{:04X}", std::atoi(port.c_str()));
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    std::istringstream lines(read_process_file(table));
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string skipped;
      std::string local;
      std::string state;
      std::string inode;
      words >> skipped >> local >> skipped >> state;
      for (int field = 0; field < 5; ++field) words >> skipped;
      words >> inode;
      if (state == "0A" && local.ends_with(wanted)) inodes.insert(inode);
    }
  }
  return inodes;
}

bool holds_socket(pid_t id, const std::set<std::string>& inodes) {
  constexpr std::string_view kSocket = "socket:[";
  const auto files = open_files_of(id);
  return files && std::ranges::any_of(*files, [&](const std::string& file) {
           return file.starts_with(kSocket) &&
                  inodes.contains(file.substr(kSocket.size(), file.size() - kSocket.size() - 1));
         });
}

/// Only where one of the run's processes listens: another job may have the usual port.
RasAnswer ask_ras_of(const std::vector<ProcessEntry>& all) {
  std::set<std::string> addresses;
  for (const ProcessEntry& process : all) {
    const std::string address = variable_of(process.id, "NCCL_RAS_ADDR");
    addresses.insert(address.empty() ? kRasAddress : address);
  }
  RasAnswer answer;
  answer.reason = fmt::format("none of the processes listens at {}", fmt::join(addresses, ", "));
  for (const std::string& address : addresses) {
    const std::set<std::string> listeners = listeners_on(address.substr(address.rfind(':') + 1));
    for (const ProcessEntry& process : all) {
      if (!holds_socket(process.id, listeners)) continue;
      if (!is_stopped(process)) return ask_ras(address, kRasLimit);
      answer.reason = fmt::format("{}: pid {} listens there, and is stopped", address, process.id);
    }
  }
  return answer;
}

/// Who uses what: fills in `gpus` of the processes, and the report's own.
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
  report.ras = ask_ras_of(all);
  return report;
}

std::vector<std::string> describe(const HangReport& report) {
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
  if (!report.ras.reason.empty()) {
    lines.push_back(fmt::format("NCCL's RAS did not answer: {}", report.ras.reason));
  }
  for (const RankBehind& each : report.ras.behind) {
    lines.push_back(fmt::format("by NCCL's RAS rank {} is behind: {} of {} {} operations ({})",
                                each.rank, each.launched, each.most, each.operation, each.where));
  }
  for (const std::string& line : report.ras.lines) lines.push_back("NCCL's RAS: " + line);
  return lines;
}

}  // namespace linkgain

#include "linkgain/telemetry/host_load.hpp"

#include <sched.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "linkgain/base/process_entry.hpp"
#include "linkgain/base/whole_number.hpp"

namespace linkgain {
namespace {

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
  constexpr std::string_view kName = "nonvoluntary_ctxt_switches:";
  std::ifstream file(process / "status");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(kName)) continue;
    std::istringstream number(line.substr(kName.size()));
    std::int64_t switches = 0;
    number >> switches;
    return switches;
  }
  return 0;
}

}  // namespace

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

}  // namespace linkgain

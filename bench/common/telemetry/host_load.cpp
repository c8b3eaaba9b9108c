#include "linkgain/telemetry/host_load.hpp"

#include <sched.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "linkgain/base/whole_number.hpp"

namespace linkgain {
namespace {

double seconds_of_ticks(double ticks) {
  static const auto kTicks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  return ticks / kTicks;
}

/// "some avg10=0.00 avg60=0.00 avg300=0.00 total=123456", in microseconds.
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

/// Lines "cpu3 user nice system idle iowait irq softirq steal guest guest_nice" of processors that
/// this process may use; guests' time is in user and nice too.
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
    load.busy_s = load.busy_s.value_or(0.0) + seconds_of_ticks(busy);
    load.stolen_s = load.stolen_s.value_or(0.0) + seconds_of_ticks(ticks[steal]);
  }
}

/// The 14th and 15th words of "PID (name that may hold anything) S ...".
double processor_time(const std::filesystem::path& process) {
  std::ifstream file(process / "stat");
  std::string line;
  std::getline(file, line);
  const std::size_t end_of_name = line.rfind(')');
  if (end_of_name == std::string::npos) return 0.0;
  std::istringstream words(line.substr(end_of_name + 1));
  constexpr int kBefore = 11;  // from the state on
  std::string skipped;
  for (int i = 0; i < kBefore; ++i) words >> skipped;
  double user = 0.0;
  double system = 0.0;
  words >> user >> system;
  return seconds_of_ticks(user + system);
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
    const std::filesystem::path process = proc / std::to_string(pid);
    load.own_s += processor_time(process);
    load.involuntary_switches += involuntary_switches(process);
  }
  return load;
}

}  // namespace linkgain

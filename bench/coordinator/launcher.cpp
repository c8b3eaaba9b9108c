#include "linkgain/coordinator/launcher.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "linkgain/core/errors.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kWorker = "linkgain-bench";

std::optional<int> read_number(const std::string& path) {
  std::ifstream file(path);
  int number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

}  // namespace

std::vector<std::string> command(const LaunchRequest& request) {
  std::vector<std::string> line{request.launcher, "-np", fmt::to_string(request.ranks), "--bind-to",
                                "none"};
  if (request.as_root) line.push_back("--allow-run-as-root");
  if (request.hostfile) {
    line.insert(line.end(), {"--hostfile", request.hostfile->string()});
  }
  if (request.ranks > request.cores) line.push_back("--oversubscribe");
  for (const auto& [name, value] : request.variant_environment) {
    if (!name.starts_with("OMPI_MCA_")) line.insert(line.end(), {"-x", name});
  }
  line.push_back(request.worker.string());
  line.insert(line.end(), request.worker_arguments.begin(), request.worker_arguments.end());
  return line;
}

Environment current_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

Environment base_environment(const Environment& current, const Environment& variant) {
  Environment environment = variant;
  environment.insert(current.begin(), current.end());
  return environment;
}

void require_launcher(const std::string& launcher) {
  if (find_program(launcher, current_environment())) return;
  const bool named = launcher.find('/') != std::string::npos;
  throw MachineError(named ? fmt::format("there is no program '{}'", launcher)
                           : fmt::format("'{}' is not on PATH", launcher),
                     "install Open MPI (apt-get install openmpi-bin) or add its folder to PATH");
}

std::filesystem::path worker_path() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error && is_executable(self.parent_path() / kWorker)) return self.parent_path() / kWorker;
  if (const auto found = find_program(kWorker, current_environment())) {
    return std::filesystem::absolute(*found);
  }
  throw MachineError(fmt::format("'{}' is neither beside this program nor on PATH", kWorker),
                     "install both programs into one folder (cmake --install)");
}

int usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  std::set<std::pair<int, int>> cores;  // package and core; a thread of an unknown core by itself
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    const std::string topology = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", cpu);
    const auto package = read_number(topology + "physical_package_id");
    const auto core = read_number(topology + "core_id");
    cores.insert(package && core ? std::pair(*package, *core) : std::pair(-1 - cpu, cpu));
  }
  return cores.empty() ? 1 : static_cast<int>(cores.size());
}

}  // namespace linkgain

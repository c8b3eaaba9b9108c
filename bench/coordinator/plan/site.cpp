#include "linkgain/plan/site.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <limits>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "linkgain/base/build_info.hpp"
#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/visible_text.hpp"
#include "linkgain/hardware/topology.hpp"
#include "linkgain/jobs/launcher.hpp"
#include "linkgain/telemetry/cuda_order.hpp"
#include "linkgain/telemetry/host.hpp"
#include "linkgain/telemetry/nvml.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kSlots = "slots=";
constexpr std::size_t kMostHostfileBytes = std::size_t{16} << 20;

std::optional<int> parse_count(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

std::optional<int> count_of(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::nullopt : parse_count(found->second);
}

UsageError no_hostfile(const std::string& why) {
  return UsageError("--hostfile: " + why, "it names a host a line, as in: node1 slots=4");
}

/// mpirun refuses others, and of a carriage return it says what nobody can see.
void require_printable(std::string_view line, int number) {
  constexpr std::string_view kBlanks = "\t\v\f";
  for (const char& c : line) {
    const bool is_control = std::iscntrl(static_cast<unsigned char>(c)) != 0;
    if (!is_control || kBlanks.find(c) != std::string_view::npos) continue;
    throw no_hostfile(fmt::format("line {} has {}", number,
                                  c == '\r' ? "a carriage return, as files of Windows do"
                                            : "the control character " + visible({&c, 1})));
  }
}

/// The slots that a line states after its host.
std::optional<int> slots_of(std::istringstream& words, int line) {
  std::optional<int> slots;
  for (std::string word; words >> word;) {
    if (!word.starts_with(kSlots)) continue;
    slots = parse_count(std::string_view(word).substr(kSlots.size()));
    if (!slots) throw no_hostfile(fmt::format("line {} has '{}'", line, word));
  }
  return slots;
}

/// The GPUs that CUDA sees, in its order as far as that can be known from outside.
std::vector<Nvml::Device> visible_devices(const Nvml& nvml, const CudaSettings& settings) {
  std::vector<Nvml::Device> devices;
  std::vector<TopologyGpu> gpus;
  for (int i = 0; i < nvml.device_count(); ++i) {
    const auto device = nvml.device_by_index(i);
    if (!device) continue;
    TopologyGpu& gpu = gpus.emplace_back();
    gpu.name = device->name().value_or("");
    gpu.uuid = device->uuid().value_or("");
    gpu.pci_bus_id = device->pci_bus_id().value_or("");
    devices.push_back(*device);
  }
  std::vector<Nvml::Device> visible;
  for (const std::size_t i : visible_to_cuda(gpus, settings)) visible.push_back(devices[i]);
  return visible;
}

}  // namespace

Hosts parse_hostfile(std::string_view text) {
  std::set<std::string> names;
  std::int64_t slots = 0;
  bool all_stated = true;
  bool repeated = false;
  std::istringstream lines{std::string(text)};
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    line.erase(std::min(line.find('#'), line.size()));
    require_printable(line, number);
    std::istringstream words(line);
    std::string name;
    if (!(words >> name)) continue;
    if (name.find('=') != std::string::npos) {
      throw no_hostfile(fmt::format("line {} starts with '{}', no host", number, name));
    }
    repeated = !names.insert(name).second || repeated;
    const std::optional<int> stated = slots_of(words, number);
    slots += stated.value_or(1);
    if (slots > std::numeric_limits<int>::max()) {
      throw no_hostfile(fmt::format("line {}: more slots than linkgain can count", number));
    }
    all_stated = all_stated && stated.has_value();
  }
  if (names.empty()) throw no_hostfile("there is no host in it");
  Hosts hosts{static_cast<int>(names.size()), std::nullopt};
  if (all_stated || repeated) hosts.slots = static_cast<int>(slots);
  return hosts;
}

Hosts read_hostfile(const std::filesystem::path& path) {
  const Reading<std::string> text = read_regular_file(path, kMostHostfileBytes);
  if (text.measured()) return parse_hostfile(text.value());
  throw no_hostfile(fmt::format("cannot read {}: {}", path.string(), text.reason()));
}

std::optional<Hosts> slurm_allocation(const Environment& environment) {
  if (!environment.contains("SLURM_JOB_ID")) return std::nullopt;
  Hosts hosts;
  hosts.count = count_of(environment, "SLURM_JOB_NUM_NODES").value_or(1);
  const std::optional<int> tasks = count_of(environment, "SLURM_NTASKS");
  if (tasks && *tasks > 1) hosts.slots = tasks;
  return hosts;
}

Site survey_site(const std::optional<Hosts>& hosts) {
  Site site;
  site.hostfile = hosts;
  site.allocation = slurm_allocation(current_environment());
  site.host = host_name();
  site.processors = usable_processors();
  site.host_memory_bytes = available_memory();
  site.shared_memory_bytes = free_shared_memory();
  site.processes = startable_processes();
  site.has_nccl = build_info().has_nccl;
  site.nccl_missing = build_info().nccl_missing;
  const std::shared_ptr<Nvml> nvml = Nvml::open(&site.no_gpus_reason);
  if (!nvml) return site;
  const CudaSettings settings = cuda_settings();
  for (const Nvml::Device& device : visible_devices(*nvml, settings)) {
    if (site.gpus++ == 0) site.gpu_name = device.name().value_or("GPU");
    site.gpu_pci_bus_ids.push_back(device.pci_bus_id().value_or(""));
    if (const auto memory = device.memory_bytes()) {
      site.gpu_memory_bytes = std::min(site.gpu_memory_bytes.value_or(*memory), *memory);
    }
    site.free_gpu_memory.push_back(device.free_memory_bytes());
    if (device.exclusive_compute_mode().value_or(false)) site.exclusive_compute_mode = true;
  }
  if (site.gpus < 2) {
    site.no_gpus_reason = site.gpus == 1 ? "there is one GPU" : "no GPU is visible";
    if (settings.visible_devices && nvml->device_count() > site.gpus) {
      site.no_gpus_reason += " (CUDA_VISIBLE_DEVICES hides others)";
    }
  }
  return site;
}

}  // namespace linkgain

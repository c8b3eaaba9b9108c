#include "linkgain/telemetry/topology_reader.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <system_error>

#include "linkgain/hardware/pci.hpp"
#include "linkgain/telemetry/cuda_order.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {
namespace {

/// What was found out about a device on the way, beside what is reported.
struct Device {
  std::optional<Nvml::Device> nvml;
  NvlinkStates links;
  std::optional<PciPlace> place;
};

/// Returns a GPU that the driver counts but that cannot be asked.
TopologyGpu silent_gpu(const std::string& reason) {
  const Missing missing{reason};
  TopologyGpu gpu;
  gpu.no_answer = reason;
  gpu.cuda_index = missing;
  gpu.cpus = missing;
  gpu.numa_node = missing;
  gpu.nvlink = {missing, missing, missing, missing, missing, missing};
  gpu.pcie = {missing, missing, missing, missing};
  gpu.bar1_bytes = gpu.memory_bytes = missing;
  gpu.mig_mode = missing;
  return gpu;
}

/// Fills in what the kernel says of where the GPU sits.
void survey_place(const std::filesystem::path& sys, TopologyGpu& gpu, Device& device) {
  const bool known = !sysfs_pci_name(gpu.pci_bus_id).empty();
  if (known) device.place = pci_place(sys, pci_folder(sys, gpu.pci_bus_id));
  const std::string reason = known ? "the kernel shows no PCI device of the GPU's id"
                                   : "the driver does not say the GPU's PCI id";
  gpu.cpus = device.place ? device.place->cpus : Missing{reason};
  gpu.numa_node = device.place ? device.place->numa_node : Missing{reason};
  gpu.path = pcie_path(sys, gpu.pci_bus_id);
  gpu.bar1_bytes = known ? bar1_bytes(sys, gpu.pci_bus_id) : Missing{reason};
}

TopologyGpu survey_gpu(const std::filesystem::path& sys, Device& device) {
  if (const std::string reason = device.nvml->silence(); !reason.empty()) return silent_gpu(reason);
  TopologyGpu gpu;
  gpu.name = device.nvml->name().value_or("");
  gpu.uuid = device.nvml->uuid().value_or("");
  gpu.pci_bus_id = device.nvml->pci_bus_id().value_or("");
  gpu.pcie = device.nvml->pcie();
  if (const auto bytes = device.nvml->memory_bytes()) gpu.memory_bytes = *bytes;
  gpu.mig_mode = device.nvml->mig_mode();
  const Reading<int> links = device.nvml->nvlink_count();
  device.links = read_nvlinks(*device.nvml, links);
  gpu.nvlink = summary_of(links, device.links);
  survey_place(sys, gpu, device);
  return gpu;
}

/// Fills in the path between two GPUs. What the driver says of their ancestor counts more than the
/// kernel's tree, which a virtual machine may hide.
void survey_gpu_pair(const Device& from, const Device& to, const Topology& topology,
                     TopologyPair& pair) {
  const TopologyGpu& from_gpu = topology.gpus[static_cast<std::size_t>(pair.from)];
  const TopologyGpu& to_gpu = topology.gpus[static_cast<std::size_t>(pair.to)];
  for (const TopologyGpu* gpu : {&from_gpu, &to_gpu}) {
    if (gpu->no_answer.empty()) continue;
    pair.ancestor = Missing{gpu->no_answer};
    pair.nvlinks = Missing{gpu->no_answer};
    pair.read = Missing{gpu->no_answer};
    pair.write = pair.atomics = pair.over_nvlink = pair.read;
    return;
  }
  const Reading<Ancestor> ancestor = from.nvml->common_ancestor(*to.nvml);
  if (ancestor.measured()) pair.ancestor = ancestor;
  pair.nvlinks = from_gpu.nvlink.possible.measured()
                     ? joining_links(from.links, to.links, to_gpu.pci_bus_id)
                     : from_gpu.nvlink.possible;
  pair.read = from.nvml->p2p_read(*to.nvml);
  pair.write = from.nvml->p2p_write(*to.nvml);
  pair.atomics = from.nvml->p2p_atomics(*to.nvml);
  pair.over_nvlink = from.nvml->p2p_over_nvlink(*to.nvml);
}

std::vector<TopologyPair> survey_pairs(const Topology& topology,
                                       const std::vector<Device>& devices) {
  std::vector<TopologyPair> pairs;
  const std::size_t gpus = topology.gpus.size();
  for (std::size_t from = 0; from < devices.size(); ++from) {
    for (std::size_t to = 0; to < devices.size(); ++to) {
      if (from == to) continue;
      TopologyPair pair;
      pair.from = static_cast<int>(from);
      pair.to = static_cast<int>(to);
      pair.ancestor = Missing{"the kernel does not show both devices"};
      if (devices[from].place && devices[to].place) {
        pair.ancestor = common_ancestor(*devices[from].place, *devices[to].place);
      }
      if (from < gpus && to < gpus) {
        survey_gpu_pair(devices[from], devices[to], topology, pair);
      }
      pairs.push_back(pair);
    }
  }
  return pairs;
}

void survey_gpus(const std::filesystem::path& sys, const Nvml& nvml, Topology& topology,
                 std::vector<Device>& devices) {
  const std::optional<std::string> driver = nvml.driver_version();
  topology.driver = driver ? Reading<std::string>(*driver) : Missing{"NVML does not say"};
  for (int i = 0; i < nvml.device_count(); ++i) {
    std::string reason;
    Device device{nvml.device_by_index(i, &reason), {}, {}};
    TopologyGpu gpu = device.nvml ? survey_gpu(sys, device) : silent_gpu(reason);
    gpu.index = i;
    topology.gpus.push_back(std::move(gpu));
    devices.push_back(std::move(device));
  }
  const std::vector<Reading<int>> indexes = cuda_indexes(topology.gpus, cuda_settings());
  for (std::size_t i = 0; i < indexes.size(); ++i) {
    if (topology.gpus[i].no_answer.empty()) topology.gpus[i].cuda_index = indexes[i];
  }
  if (topology.gpus.empty()) topology.no_gpus = "the driver finds no GPU";
}

/// Fills in whose the CPU is, as NCCL reads it, and the hypervisor: by the flag that x86 has for
/// it, else by the best known name.
void survey_processor(const std::filesystem::path& sys, const std::filesystem::path& proc,
                      Topology& topology) {
  std::string vendor;
  std::getline(std::ifstream(sys / "class/dmi/id/sys_vendor"), vendor);
  bool has_flag = false;
  std::ifstream cpus(proc / "cpuinfo");
  for (std::string line; std::getline(cpus, line) && !line.empty();) {
    if (line.starts_with("vendor_id")) topology.has_amd_cpu = line.ends_with("AuthenticAMD");
    if (line.starts_with("flags")) has_flag = (line + " ").find(" hypervisor ") != line.npos;
  }
  if (!has_flag && vendor != "QEMU") return;
  topology.hypervisor = vendor.empty() ? "unknown hypervisor" : vendor;
}

/// Sorts "mlx5_9" before "mlx5_10".
bool natural_order(const std::string& a, const std::string& b) {
  const auto digits = [](const std::string& name) {
    return name.find_last_not_of("0123456789") + 1;
  };
  const std::string_view stem_a = std::string_view(a).substr(0, digits(a));
  const std::string_view stem_b = std::string_view(b).substr(0, digits(b));
  if (stem_a != stem_b || a.size() == b.size()) return a < b;
  return a.size() < b.size();
}

/// Finds RDMA devices with a PCI device behind them; others, as the kernel's software ones, lead
/// nowhere.
void survey_nics(const std::filesystem::path& sys, Topology& topology,
                 std::vector<Device>& devices) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator each(sys / "class/infiniband", error), end;
       !error && each != end; each.increment(error)) {
    names.push_back(each->path().filename());
  }
  std::ranges::sort(names, natural_order);
  for (const std::string& name : names) {
    Device device{{}, {}, pci_place(sys, sys / "class/infiniband" / name / "device")};
    if (!device.place) continue;
    topology.nics.push_back({name, device.place->id, device.place->numa_node});
    devices.push_back(std::move(device));
  }
}

}  // namespace

Topology survey_topology(const std::filesystem::path& sys, const std::filesystem::path& proc) {
  Topology topology;
  topology.host = host_name();
  survey_processor(sys, proc, topology);
  std::vector<Device> devices;
  const std::shared_ptr<Nvml> nvml = Nvml::open(&topology.no_gpus, &topology.no_gpus_advice);
  if (nvml) {
    topology.no_gpus.clear();
    survey_gpus(sys, *nvml, topology, devices);
  } else {
    topology.driver = Missing{topology.no_gpus};
  }
  survey_nics(sys, topology, devices);
  topology.pairs = survey_pairs(topology, devices);
  return topology;
}

}  // namespace linkgain

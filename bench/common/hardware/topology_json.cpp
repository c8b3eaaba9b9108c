#include <fmt/format.h>

#include "linkgain/base/json.hpp"
#include "linkgain/hardware/nvlink.hpp"
#include "linkgain/hardware/topology.hpp"

namespace linkgain {
namespace {

using json::Out;

template <typename T>
Out write_reading(const Reading<T>& reading) {
  return reading.measured() ? Out(reading.value()) : Out{{"not_measured", reading.reason()}};
}

Out write_status(const Reading<P2pStatus>& status) {
  if (!status.measured()) return {{"not_measured", status.reason()}};
  if (status.value().ok) return {{"ok", true}};
  return {{"ok", false}, {"why_not", status.value().why_not}};
}

Out write_version(const Reading<int>& version) {
  if (!version.measured()) return write_reading(version);
  const std::string name = nvlink_version_name(version.value());
  if (!name.empty()) return name;
  return {{"not_measured", fmt::format("NVML's version {} has no known name", version.value())}};
}

/// Active links whose rate is below link_gb_per_s.
Out write_slower(const NvlinkInfo& nvlink) {
  if (!nvlink.rate_gb_per_s.measured()) return write_reading(nvlink.rate_gb_per_s);
  Out links = Out::array();
  for (const SlowNvlink& link : nvlink.slower) {
    links.push_back({{"link", link.link}, {"gb_per_s", link.rate_gb_per_s}});
  }
  return links;
}

Out write_nvlink(const NvlinkInfo& nvlink) {
  const Reading<double> rate = rate_of(nvlink);
  const Out both_ways = rate.measured() ? Out(2 * rate.value()) : write_reading(rate);
  return {{"version", write_version(nvlink.version)},
          {"links_possible", write_reading(nvlink.possible)},
          {"links_active", write_reading(nvlink.active)},
          {"to_switch", write_reading(nvlink.switched)},
          {"link_gb_per_s", write_reading(nvlink.rate_gb_per_s)},
          {"slower_links", write_slower(nvlink)},
          {"direction_gb_per_s", write_reading(rate)},
          {"both_ways_gb_per_s", both_ways},
          {"payload_direction_gb_per_s", write_reading(payload_limit_of(nvlink))}};
}

Out write_pcie(const PcieInfo& pcie) {
  return {{"generation", write_reading(pcie.generation)},
          {"width", write_reading(pcie.width)},
          {"most_generation", write_reading(pcie.most_generation)},
          {"most_width", write_reading(pcie.most_width)}};
}

/// Name or number of a GPU, or why the driver does not tell.
Out write_identity(const TopologyGpu& gpu, const std::string& text) {
  if (!text.empty()) return text;
  return {{"not_measured", gpu.no_answer.empty() ? "the driver does not say" : gpu.no_answer}};
}

Out write_gpu(const TopologyGpu& gpu) {
  return {{"index", gpu.index},
          {"name", write_identity(gpu, gpu.name)},
          {"uuid", write_identity(gpu, gpu.uuid)},
          {"pci_bus_id", write_identity(gpu, gpu.pci_bus_id)},
          {"cuda_index", write_reading(gpu.cuda_index)},
          {"cpu_affinity", write_reading(gpu.cpus)},
          {"numa_affinity", write_reading(gpu.numa_node)},
          {"pcie", write_pcie(gpu.pcie)},
          {"nvlink", write_nvlink(gpu.nvlink)}};
}

Out write_nic(const TopologyNic& nic) {
  return {{"name", nic.name},
          {"pci_bus_id", nic.pci_bus_id},
          {"numa_affinity", write_reading(nic.numa_node)}};
}

Out write_pair(const Topology& topology, const TopologyPair& pair) {
  Out out{{"from", device_label(topology, pair.from)},
          {"to", device_label(topology, pair.to)},
          {"label", label_of(pair)},
          {"ancestor", pair.ancestor.measured() ? Out(label_of(pair.ancestor.value()))
                                                : Out{{"not_measured", pair.ancestor.reason()}}}};
  const int gpus = static_cast<int>(topology.gpus.size());
  if (pair.from >= gpus || pair.to >= gpus) return out;
  out["nvlinks"] = write_reading(pair.nvlinks);
  out["p2p"] = {{"read", write_status(pair.read)},
                {"write", write_status(pair.write)},
                {"atomics", write_status(pair.atomics)},
                {"over_nvlink", write_status(pair.over_nvlink)}};
  return out;
}

}  // namespace

std::string to_json(const Topology& topology) {
  Out out{{"schema", "linkgain.topology/1"},
          {"host", topology.host},
          {"driver", write_reading(topology.driver)}};
  if (!topology.no_gpus.empty()) out["no_gpus"] = topology.no_gpus;
  out["gpus"] = json::array_of(topology.gpus, write_gpu);
  out["nics"] = json::array_of(topology.nics, write_nic);
  out["pairs"] = json::array_of(
      topology.pairs, [&](const TopologyPair& pair) { return write_pair(topology, pair); });
  return json::text_of(out, 2) + "\n";
}

}  // namespace linkgain

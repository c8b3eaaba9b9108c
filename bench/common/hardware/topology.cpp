#include "linkgain/hardware/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "linkgain/base/json.hpp"

namespace linkgain {

std::optional<double> nvlink_payload_share(int version) {
  switch (version) {
    case 2:
    case 3:
      return 32.0 / 33.0;
    case 6:
    case 7:
      return 16.0 / 17.0;
    default:
      return std::nullopt;
  }
}

std::string nvlink_version_name(int nvml_version) {
  constexpr std::array<std::string_view, 9> kVersions{"",    "1.0", "2.0", "2.2", "3.0",
                                                      "3.1", "4.0", "5.0", "6.0"};
  const auto index = static_cast<std::size_t>(std::max(nvml_version, 0));
  return index < kVersions.size() ? std::string(kVersions[index]) : std::string();
}

std::optional<double> bridge_rate(std::string_view model) {
  struct Row {
    std::string_view model;
    double both_ways;  ///< the product sheet's total
  };
  static constexpr std::array kRows = std::to_array<Row>({
      {"GeForce RTX 2080", 50.0},
      {"GeForce RTX 2080 SUPER", 50.0},
      {"Quadro RTX 5000", 50.0},
      {"GeForce RTX 2080 Ti", 100.0},
      {"TITAN RTX", 100.0},
      {"Quadro RTX 6000", 100.0},
      {"Quadro RTX 8000", 100.0},
      {"Quadro GV100", 200.0},
      {"GeForce RTX 3090", 112.5},
      {"GeForce RTX 3090 Ti", 112.5},
      {"RTX A4500", 112.5},
      {"RTX A5000", 112.5},
      {"RTX A5500", 112.5},
      {"RTX A6000", 112.5},
      {"A40", 112.5},
      {"A30", 200.0},
      {"A100-PCIE-40GB", 600.0},
      {"A100 80GB PCIe", 600.0},
      {"H100 PCIe", 600.0},
      {"H100 NVL", 600.0},
      {"H200 NVL", 900.0},
  });
  constexpr std::string_view kMaker = "NVIDIA ";
  if (model.starts_with(kMaker)) model.remove_prefix(kMaker.size());
  const auto* const row = std::ranges::find(kRows, model, &Row::model);
  return row == kRows.end() ? std::nullopt : std::optional(row->both_ways / 2.0);
}

Reading<double> rate_of(const NvlinkInfo& nvlink) {
  if (!nvlink.active.measured()) return nvlink.active.missing();
  if (nvlink.active.value() == 0) return Missing{"no link is active"};
  if (!nvlink.rate_gb_per_s.measured()) return nvlink.rate_gb_per_s;
  const double full = nvlink.rate_gb_per_s.value();
  double rate = nvlink.active.value() * full;
  for (const SlowNvlink& link : nvlink.slower) rate -= full - link.rate_gb_per_s;
  return rate;
}

Reading<double> payload_limit_of(const NvlinkInfo& nvlink) {
  const Reading<double> rate = rate_of(nvlink);
  if (!rate.measured()) return rate;
  if (!nvlink.version.measured()) return nvlink.version.missing();
  if (const std::optional<double> share = nvlink_payload_share(nvlink.version.value())) {
    return rate.value() * *share;
  }
  const std::string name = nvlink_version_name(nvlink.version.value());
  return Missing{name.empty() ? "the coding of this NVLink version is not known here"
                              : fmt::format("the coding of NVLink {} is not public", name)};
}

std::string device_label(const Topology& topology, int device) {
  const int gpus = static_cast<int>(topology.gpus.size());
  if (device >= gpus) return fmt::format("NIC{}", device - gpus);
  return fmt::format("GPU{}", topology.gpus[static_cast<std::size_t>(device)].index);
}

std::string device_labels(const Topology& topology, const TopologyPair& pair) {
  return device_label(topology, pair.from) + "-" + device_label(topology, pair.to);
}

const TopologyPair* find_pair(const Topology& topology, int from, int to) {
  const auto pair = std::ranges::find_if(
      topology.pairs, [&](const TopologyPair& each) { return each.from == from && each.to == to; });
  return pair != topology.pairs.end() ? &*pair : nullptr;
}

std::vector<TopologyPair> gpu_pairs(const Topology& topology) {
  const int gpus = static_cast<int>(topology.gpus.size());
  std::vector<TopologyPair> pairs;
  std::ranges::copy_if(topology.pairs, std::back_inserter(pairs), [&](const TopologyPair& pair) {
    return pair.from < pair.to && pair.to < gpus;
  });
  return pairs;
}

bool may_have_nvlink(const NvlinkInfo& nvlink) {
  return nvlink.possible.why() != WhyMissing::unsupported && nvlink.possible.value_or(1) != 0;
}

bool are_all_of_bridges(std::string_view model, int active, int possible) {
  const bool has_bridges = model.ends_with("H100 NVL") || model.ends_with("H100 PCIe");
  return has_bridges && active == 12 && possible == 18;
}

bool has_all_of_bridges(const TopologyGpu& gpu) {
  static const std::vector<int> kNotOnBridges{4, 5, 10, 11, 16, 17};
  const NvlinkInfo& nvlink = gpu.nvlink;
  return are_all_of_bridges(gpu.name, nvlink.active.value_or(0), nvlink.possible.value_or(0)) &&
         nvlink.dark.value_or({}) == kNotOnBridges;
}

bool has_links_down(const TopologyGpu& gpu) {
  const NvlinkInfo& nvlink = gpu.nvlink;
  return nvlink.active.measured() && nvlink.active.value() < nvlink.possible.value_or(0) &&
         !has_all_of_bridges(gpu);
}

bool could_be_bridged(const TopologyGpu& a, const TopologyGpu& b) {
  const auto is_free = [](const NvlinkInfo& nvlink) {
    return may_have_nvlink(nvlink) && nvlink.active.value_or(1) == 0;
  };
  return a.name == b.name && is_free(a.nvlink) && is_free(b.nvlink);
}

P2pRefusal p2p_refusal(const Topology& topology, const TopologyPair& pair) {
  P2pRefusal refusal;
  for (const TopologyPair* each : {&pair, find_pair(topology, pair.to, pair.from)}) {
    if (each == nullptr) continue;
    for (const auto* status : {&each->read, &each->write}) {
      const P2pUse use = status == &each->read ? P2pUse::reads : P2pUse::writes;
      if (!status->measured()) {
        refusal.unknown = status->reason();
      } else if (!status->value().ok) {
        return {use, status->value().why_not, {}, status->value().of_machine};
      }
    }
  }
  return refusal;
}

bool is_patched(const Topology& topology, const TopologyPair& pair) {
  const auto is_geforce = [&](int place) {
    return topology.gpus[static_cast<std::size_t>(place)].name.find("GeForce RTX") !=
           std::string::npos;
  };
  const P2pRefusal refusal = p2p_refusal(topology, pair);
  return is_geforce(pair.from) && is_geforce(pair.to) && joined_by_nvlink(pair) == false &&
         refusal.why_not.empty() && refusal.unknown.empty();
}

namespace {

/// Returns whether the driver says that P2P goes over NVLink.
std::optional<bool> driver_says(const TopologyPair& pair) {
  return pair.over_nvlink.measured() ? std::optional(pair.over_nvlink.value().ok) : std::nullopt;
}

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

/// Writes the active links whose rate is below link_gb_per_s.
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

Out write_hop(const PcieHop& hop) {
  return {{"pci_bus_id", hop.pci_bus_id},
          {"width", write_reading(hop.width)},
          {"most_width", write_reading(hop.most_width)},
          {"most_gt_per_s", write_reading(hop.most_rate)}};
}

Out write_pcie(const TopologyGpu& gpu) {
  return {{"generation", write_reading(gpu.pcie.generation)},
          {"width", write_reading(gpu.pcie.width)},
          {"most_generation", write_reading(gpu.pcie.most_generation)},
          {"most_width", write_reading(gpu.pcie.most_width)},
          {"path", json::array_of(gpu.path, write_hop)},
          {"bar1_bytes", write_reading(gpu.bar1_bytes)}};
}

/// Writes the name or number of a GPU, or why the driver does not report.
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
          {"pcie", write_pcie(gpu)},
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
          {"ancestor", pair.ancestor.measured() ? Out(name_of(pair.ancestor.value()))
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

std::optional<bool> joined_by_nvlink(std::optional<int> nvlinks, std::optional<bool> driver) {
  return nvlinks ? std::optional(*nvlinks > 0) : driver;
}

std::optional<bool> joined_by_nvlink(const TopologyPair& pair) {
  return joined_by_nvlink(pair.nvlinks.optional(), driver_says(pair));
}

std::optional<bool> needs_pcie_p2p(const Topology& topology) {
  std::optional<bool> needed = false;
  for (const TopologyPair& pair : gpu_pairs(topology)) {
    const std::optional<bool> joined = joined_by_nvlink(pair);
    if (joined == false) return true;
    if (!joined) needed.reset();
  }
  return needed;
}

std::string pair_label(std::optional<int> nvlinks, std::optional<bool> driver,
                       std::optional<Ancestor> ancestor) {
  if (joined_by_nvlink(nvlinks, driver).value_or(false)) {
    return nvlinks ? fmt::format("NV{}", *nvlinks) : "NV?";
  }
  return ancestor ? std::string(name_of(*ancestor)) : "?";
}

std::string label_of(const TopologyPair& pair) {
  return pair_label(pair.nvlinks.optional(), driver_says(pair), pair.ancestor.optional());
}

std::string to_json(const Topology& topology) {
  Out out{{"schema", "linkgain.topology/1"},
          {"host", topology.host},
          {"driver", write_reading(topology.driver)},
          {"hypervisor", topology.hypervisor ? Out(*topology.hypervisor) : Out(nullptr)}};
  if (!topology.no_gpus.empty()) out["no_gpus"] = topology.no_gpus;
  out["gpus"] = json::array_of(topology.gpus, write_gpu);
  out["nics"] = json::array_of(topology.nics, write_nic);
  out["pairs"] = json::array_of(
      topology.pairs, [&](const TopologyPair& pair) { return write_pair(topology, pair); });
  return json::dump(out, 2) + "\n";
}

}  // namespace linkgain

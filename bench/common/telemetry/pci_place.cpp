#include "pci_place.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <system_error>

#include "linkgain/telemetry/pci_name.hpp"

namespace linkgain {
namespace {

std::optional<std::string> first_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line) || line.empty()) return std::nullopt;
  return line;
}

/// Without the list of nodes the kernel knows of one.
bool has_one_node(const std::filesystem::path& sys) {
  const std::string nodes = first_line(sys / "devices/system/node/online").value_or("0");
  return nodes.find_first_of(",-") == std::string::npos;
}

Reading<int> numa_node_of(const std::filesystem::path& sys, const std::filesystem::path& device) {
  const std::optional<std::string> text = first_line(device / "numa_node");
  int node = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), node).ec != std::errc{}) {
    return Reading<int>::missing("the kernel knows of no NUMA node");
  }
  if (node >= 0) return node;
  if (has_one_node(sys)) return 0;
  return Reading<int>::missing("the firmware assigns the device to no NUMA node");
}

Reading<std::string> cpus_of(const std::filesystem::path& device) {
  const std::optional<std::string> list = first_line(device / "local_cpulist");
  return list ? Reading<std::string>(*list)
              : Reading<std::string>::missing("the kernel names no CPUs near the device");
}

/// Root complex, bridges, device; empty where `folder` is below no PCI device.
std::vector<std::string> pci_components(const std::filesystem::path& folder) {
  std::vector<std::string> components;
  for (const std::filesystem::path& part : folder) {
    const std::string name = part.string();
    const bool root = name.starts_with("pci") && name.find(':') != std::string::npos;
    if (components.empty() ? root : !sysfs_pci_name(name).empty()) components.push_back(name);
  }
  return components.size() > 1 ? components : std::vector<std::string>{};
}

/// Two root complexes: what counts is whether they belong to the same NUMA node.
Reading<Ancestor> between_root_complexes(const PciPlace& a, const PciPlace& b) {
  for (const PciPlace* place : {&a, &b}) {
    if (!place->numa_node.measured()) {
      return Reading<Ancestor>::missing(place->numa_node.reason());
    }
  }
  return a.numa_node.value() == b.numa_node.value() ? Ancestor::node : Ancestor::sys;
}

}  // namespace

std::optional<PciPlace> pci_place(const std::filesystem::path& sys,
                                  const std::filesystem::path& link) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::canonical(link, error);
  if (error) return std::nullopt;
  PciPlace place;
  place.path = pci_components(target);
  if (place.path.empty()) return std::nullopt;
  place.id = place.path.back();
  const std::filesystem::path device = pci_folder(sys, place.id);
  place.numa_node = numa_node_of(sys, device);
  place.cpus = cpus_of(device);
  return place;
}

Reading<Ancestor> common_ancestor(const PciPlace& a, const PciPlace& b) {
  const auto [in_a, in_b] =
      std::mismatch(a.path.begin(), a.path.end(), b.path.begin(), b.path.end());
  const auto common = in_a - a.path.begin();
  if (common == 0) return between_root_complexes(a, b);
  if (common == 1) return Ancestor::phb;
  // What is left are ports below the bridge in common, and the devices: one port each for one
  // switch, none for two functions of one device or one that RDMA devices share.
  const auto longest = std::max(a.path.end() - in_a, b.path.end() - in_b);
  return longest <= 2 ? Ancestor::pix : Ancestor::pxb;
}

}  // namespace linkgain

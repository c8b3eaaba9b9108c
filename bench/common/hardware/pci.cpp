#include "linkgain/hardware/pci.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <set>
#include <system_error>

#include "linkgain/base/regular_file.hpp"

namespace linkgain {

std::string sysfs_pci_name(const std::string& pci_bus_id) {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;
  int length = 0;
  if (std::sscanf(pci_bus_id.c_str(), "%8x:%2x:%2x.%1x%n", &domain, &bus, &device, &function,
                  &length) != 4 ||
      static_cast<std::size_t>(length) != pci_bus_id.size()) {
    return {};
  }
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, device, function);
}

std::filesystem::path pci_devices(const std::filesystem::path& sys) {
  return sys / "bus/pci/devices";
}

std::filesystem::path pci_folder(const std::filesystem::path& sys, const std::string& pci_bus_id) {
  return pci_devices(sys) / sysfs_pci_name(pci_bus_id);
}

namespace {

std::optional<std::string> first_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line) || line.empty()) return std::nullopt;
  return line;
}

/// Reads the lanes or the rate of a link ("16", "16.0 GT/s PCIe"); missing where the kernel does
/// not know it ("0", "255", "Unknown") or the device has no link.
template <typename T>
Reading<T> link_number(const std::filesystem::path& file) {
  constexpr double kMost = 200.0;
  const double number = std::strtod(first_line(file).value_or("").c_str(), nullptr);
  if (!(number > 0.0 && number < kMost)) return Missing{"the kernel does not say"};
  return static_cast<T>(number);
}

/// Returns whether the kernel knows of one node; without a list of nodes it does.
bool has_one_node(const std::filesystem::path& sys) {
  const std::string nodes = first_line(sys / "devices/system/node/online").value_or("0");
  return nodes.find_first_of(",-") == std::string::npos;
}

Reading<int> numa_node_of(const std::filesystem::path& sys, const std::filesystem::path& device) {
  const std::optional<std::string> text = first_line(device / "numa_node");
  int node = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), node).ec != std::errc{}) {
    return Missing{"the kernel knows of no NUMA node"};
  }
  if (node >= 0) return node;
  if (has_one_node(sys)) return 0;
  return Missing{"the firmware assigns the device to no NUMA node"};
}

Reading<std::string> cpus_of(const std::filesystem::path& device) {
  const std::optional<std::string> list = first_line(device / "local_cpulist");
  return list ? Reading<std::string>(*list) : Missing{"the kernel names no CPUs near the device"};
}

/// Returns root complex, bridges and device; empty if `folder` is below no PCI device.
std::vector<std::string> pci_components(const std::filesystem::path& folder) {
  std::vector<std::string> components;
  for (const std::filesystem::path& part : folder) {
    const std::string name = part.string();
    const bool root = name.starts_with("pci") && name.find(':') != std::string::npos;
    if (components.empty() ? root : !sysfs_pci_name(name).empty()) components.push_back(name);
  }
  return components.size() > 1 ? components : std::vector<std::string>{};
}

/// Compares two root complexes: what counts is whether they belong to the same NUMA node.
Reading<Ancestor> between_root_complexes(const PciPlace& a, const PciPlace& b) {
  for (const PciPlace* place : {&a, &b}) {
    if (!place->numa_node.measured()) {
      return place->numa_node.missing();
    }
  }
  return a.numa_node.value() == b.numa_node.value() ? Ancestor::node : Ancestor::sys;
}

constexpr std::size_t kExtendedSpace = 0x100;
constexpr std::size_t kWholeSpace = 0x1000;
constexpr unsigned kAccessControlServices = 0x000d;
/// Bits 2 and 3 of the control register: request and completion redirect.
constexpr unsigned kRedirects = 0xc;

/// Reads a little-endian number.
unsigned number_at(const std::string& bytes, std::size_t offset, std::size_t length) {
  unsigned number = 0;
  for (std::size_t i = length; i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[offset + i]);
  }
  return number;
}

/// Returns the names in a folder, sorted; missing where there is no such folder.
Reading<std::vector<std::string>> names_in(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::directory_iterator entries(folder, error);
  if (error) {
    return Missing{"there is no " + folder.string()};
  }
  std::vector<std::string> names;
  for (const std::filesystem::directory_entry& entry : entries)
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
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

Reading<std::string> iommu_domain(const std::filesystem::path& sys, const std::string& pci_bus_id) {
  const std::filesystem::path group = pci_folder(sys, pci_bus_id) / "iommu_group";
  std::error_code error;
  if (!std::filesystem::exists(group, error)) return Missing{"is in no IOMMU group"};
  const std::string type = first_line(group / "type").value_or("");
  if (type.empty()) return Missing{"the kernel does not say its kind"};
  return type;
}

Reading<std::vector<std::string>> iommu_units(const std::filesystem::path& sys) {
  return names_in(sys / "class/iommu");
}

Reading<bool> acs_redirects(const std::string& space) {
  if (space.size() < kWholeSpace) {
    return Missing{"the bridge's configuration can be read by root only"};
  }
  std::set<std::size_t> seen;
  std::size_t offset = kExtendedSpace;
  while (offset >= kExtendedSpace && offset + 8 <= kWholeSpace && seen.insert(offset).second) {
    const unsigned header = number_at(space, offset, 4);
    if ((header & 0xffff) == kAccessControlServices) {
      return (number_at(space, offset + 6, 2) & kRedirects) != 0;
    }
    offset = header >> 20;
  }
  return false;
}

Reading<std::vector<PcieBridge>> bridges_above(const std::filesystem::path& sys,
                                               const std::vector<std::string>& pci_bus_ids) {
  using Bridges = std::vector<PcieBridge>;
  Bridges bridges;
  for (const std::string& id : pci_bus_ids) {
    std::error_code error;
    std::filesystem::path folder = std::filesystem::canonical(pci_folder(sys, id), error);
    if (error) return Missing{"the kernel does not show the GPUs' place on PCIe"};
    for (folder = folder.parent_path(); !sysfs_pci_name(folder.filename()).empty();
         folder = folder.parent_path()) {
      const std::string name = folder.filename();
      if (std::ranges::find(bridges, name, &PcieBridge::pci_bus_id) != bridges.end()) break;
      bridges.push_back({name, acs_redirects(read_regular_file(folder / "config").value_or(""))});
    }
  }
  return bridges;
}

std::vector<PcieHop> pcie_path(const std::filesystem::path& sys, const std::string& pci_bus_id) {
  std::vector<PcieHop> path;
  std::error_code error;
  std::filesystem::path folder = std::filesystem::canonical(pci_folder(sys, pci_bus_id), error);
  if (error || sysfs_pci_name(pci_bus_id).empty()) return path;
  for (; !sysfs_pci_name(folder.filename()).empty(); folder = folder.parent_path()) {
    path.push_back({folder.filename(), link_number<int>(folder / "current_link_width"),
                    link_number<int>(folder / "max_link_width"),
                    link_number<double>(folder / "max_link_speed")});
  }
  return path;
}

std::optional<double> capacity_of(const PcieHop& hop) {
  if (!hop.width.measured() || !hop.most_rate.measured()) return std::nullopt;
  return hop.width.value() * hop.most_rate.value();
}

const PcieHop* narrowest_above(const std::vector<PcieHop>& path) {
  constexpr std::size_t kEndsOfOwnLink = 2;
  double least = std::numeric_limits<double>::infinity();
  const PcieHop* narrowest = nullptr;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const std::optional<double> capacity = capacity_of(path[i]);
    if (!capacity) continue;
    if (*capacity < least && i >= kEndsOfOwnLink) narrowest = &path[i];
    least = std::min(least, *capacity);
  }
  return narrowest;
}

Reading<std::int64_t> bar1_bytes(const std::filesystem::path& sys, const std::string& pci_bus_id) {
  std::ifstream resources(pci_folder(sys, pci_bus_id) / "resource");
  std::string line;
  unsigned long long first = 0;
  unsigned long long last = 0;
  // A line for each region: where it begins and ends, and its flags.
  if (!std::getline(resources, line) || !std::getline(resources, line) ||
      std::sscanf(line.c_str(), "%llx %llx", &first, &last) != 2 || last <= first) {
    return Missing{"the kernel shows no BAR1 of the GPU"};
  }
  return static_cast<std::int64_t>(last - first) + 1;
}

Reading<std::vector<std::string>> nvidia_devices(const std::filesystem::path& sys) {
  const std::filesystem::path folder = pci_devices(sys);
  const Reading<std::vector<std::string>> names = names_in(folder);
  if (!names.measured()) return names;
  std::vector<std::string> devices;
  for (const std::string& name : names.value()) {
    const bool nvidia = first_line(folder / name / "vendor").value_or("") == "0x10de";
    const std::string kind = first_line(folder / name / "class").value_or("");
    if (nvidia && (kind.starts_with("0x0300") || kind.starts_with("0x0302"))) {
      devices.push_back(name);
    }
  }
  return devices;
}

}  // namespace linkgain

#include "pci_tree.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <system_error>

#include "linkgain/telemetry/pci_name.hpp"
#include "linkgain/telemetry/whole_file.hpp"

namespace linkgain {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kExtendedSpace = 0x100;
constexpr std::size_t kWholeSpace = 0x1000;
constexpr unsigned kAccessControlServices = 0x000d;
/// Bits 2 and 3 of the control register: request and completion redirect.
constexpr unsigned kRedirects = 0xc;

std::string first_word(const fs::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

/// Little-endian.
unsigned number_at(const std::string& bytes, std::size_t offset, std::size_t length) {
  unsigned number = 0;
  for (std::size_t i = length; i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[offset + i]);
  }
  return number;
}

/// The names in a folder, sorted; missing where there is no such folder.
Reading<std::vector<std::string>> names_in(const fs::path& folder) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error) {
    return Reading<std::vector<std::string>>::missing("there is no " + folder.string());
  }
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : entries) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

}  // namespace

Reading<std::string> iommu_domain(const fs::path& sys, const std::string& pci_bus_id) {
  const fs::path group = pci_folder(sys, pci_bus_id) / "iommu_group";
  std::error_code error;
  if (!fs::exists(group, error)) return Reading<std::string>::missing("is in no IOMMU group");
  const std::string type = first_word(group / "type");
  if (type.empty()) return Reading<std::string>::missing("the kernel does not say its kind");
  return type;
}

Reading<std::vector<std::string>> iommu_units(const fs::path& sys) {
  return names_in(sys / "class/iommu");
}

Reading<bool> acs_redirects(const std::string& space) {
  if (space.size() < kWholeSpace) {
    return Reading<bool>::missing("the bridge's configuration can be read by root only");
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

Reading<std::vector<BridgeSurvey>> bridges_above(const fs::path& sys,
                                                 const std::vector<std::string>& pci_bus_ids) {
  using Bridges = std::vector<BridgeSurvey>;
  Bridges bridges;
  for (const std::string& id : pci_bus_ids) {
    std::error_code error;
    fs::path folder = fs::canonical(pci_folder(sys, id), error);
    if (error) return Reading<Bridges>::missing("the kernel does not show the GPUs' place on PCIe");
    for (folder = folder.parent_path(); !sysfs_pci_name(folder.filename()).empty();
         folder = folder.parent_path()) {
      const std::string name = folder.filename();
      if (std::ranges::find(bridges, name, &BridgeSurvey::pci_bus_id) != bridges.end()) break;
      bridges.push_back({name, acs_redirects(whole_file(folder / "config").value_or(""))});
    }
  }
  return bridges;
}

Reading<std::vector<std::string>> nvidia_devices(const fs::path& sys) {
  const fs::path folder = pci_devices(sys);
  const Reading<std::vector<std::string>> names = names_in(folder);
  if (!names.measured()) return names;
  std::vector<std::string> devices;
  for (const std::string& name : names.value()) {
    const bool nvidia = first_word(folder / name / "vendor") == "0x10de";
    const std::string kind = first_word(folder / name / "class");
    if (nvidia && (kind.starts_with("0x0300") || kind.starts_with("0x0302"))) {
      devices.push_back(name);
    }
  }
  return devices;
}

}  // namespace linkgain

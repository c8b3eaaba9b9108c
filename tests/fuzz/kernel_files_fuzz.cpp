// What the kernel says in /sys and /proc. A line of the input makes a file or a link of the tree
// that is read: "sys/class/iommu/dmar0 = text", "sys/bus/pci/devices/ID -> ../../../devices/…";
// "\n" in a text is a line break.
#include <algorithm>
#include <system_error>

#include "fuzz_target.hpp"
#include "linkgain/hardware/pci.hpp"
#include "linkgain/hardware/topology.hpp"
#include "linkgain/telemetry/host.hpp"
#include "linkgain/telemetry/kernel_log.hpp"
#include "linkgain/telemetry/topology_reader.hpp"
#include "linkgain/watch/program_evidence.hpp"

namespace linkgain {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostFiles = 60;
constexpr std::size_t kMostPath = 200;

std::string with_line_breaks(std::string_view text) {
  std::string lines(text);
  for (std::size_t at = lines.find("\\n"); at != std::string::npos;
       at = lines.find("\\n", at + 1)) {
    lines.replace(at, 2, "\n");
  }
  return lines;
}

/// Accepts only names that stay below the tree.
bool is_place(std::string_view path) {
  return !path.empty() && path.size() <= kMostPath && path.find('\0') == std::string_view::npos &&
         !path.starts_with('/') && path.find("..") == std::string_view::npos;
}

void add(const fs::path& tree, std::string_view line) {
  const std::size_t link = line.find(" -> ");
  const std::size_t content = line.find(" = ");
  const std::string_view place = line.substr(0, std::min(link, content));
  if (!is_place(place) || place.size() == line.size()) return;
  const std::string_view rest = line.substr(std::min(link, content));
  std::error_code error;
  fs::create_directories((tree / place).parent_path(), error);
  if (link < content) {
    if (rest.size() > 4 && rest.find('\0') == std::string_view::npos && rest.size() <= kMostPath) {
      fs::create_symlink(rest.substr(4), tree / place, error);
    }
  } else {
    std::ofstream(tree / place, std::ios::binary) << with_line_breaks(rest.substr(3));
  }
}

std::vector<std::string> device_names(const fs::path& sys) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator each(pci_devices(sys), error), end; !error && each != end;
       each.increment(error)) {
    names.push_back(each->path().filename());
  }
  return names;
}

void read_devices(const fs::path& sys) {
  const std::vector<std::string> names = device_names(sys);
  std::vector<PciPlace> places;
  for (const std::string& name : names) {
    iommu_domain(sys, name);
    if (const auto place = pci_place(sys, pci_devices(sys) / name)) places.push_back(*place);
  }
  for (const PciPlace& from : places) {
    for (const PciPlace& to : places) common_ancestor(from, to);
  }
  bridges_above(sys, names);
  iommu_units(sys);
  nvidia_devices(sys);
}

void read(std::string_view text) {
  acs_redirects(std::string(text));
  for (const XidEvent& event : parse_kernel_log(text)) meaning_of(event);
  nccl_in_maps(text);
  const fs::path tree = fuzz::scratch_folder() / "kernel";
  for (std::size_t files = 0; files < kMostFiles && !text.empty(); ++files) {
    add(tree, fuzz::take_line(text));
  }
  read_devices(tree / "sys");
  survey_topology(tree / "sys", tree / "proc");
  read_host_load({1, 77}, tree / "proc");
  cgroup_process_room(tree);
  std::error_code error;
  fs::remove_all(tree, error);
}

}  // namespace
}  // namespace linkgain

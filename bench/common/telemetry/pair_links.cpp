#include "linkgain/telemetry/pair_links.hpp"

#include <string>

#include "nvlink_summary.hpp"

namespace linkgain {
namespace {

struct End {
  std::optional<Nvml::Device> device;
  std::string pci_bus_id;
  Reading<int> count;
  NvlinkStates links;
};

End look_at(const std::optional<Nvml::Device>& device) {
  End end{device, {}, {}, {}};
  if (!device) return end;
  end.pci_bus_id = device->pci_bus_id().value_or("");
  end.count = device->nvlink_count();
  end.links = read_nvlinks(*device, end.count);
  return end;
}

PairLink link_between(const End& from, const End& to) {
  if (!from.device || !to.device) return {};
  PairLink link = from.device->link_to(*to.device);
  if (from.count.measured()) {
    link.nvlinks = joining_links(from.links, to.links, to.pci_bus_id).optional();
  }
  return link;
}

}  // namespace

std::vector<PairLink> links_between(const std::vector<std::optional<Nvml::Device>>& devices) {
  std::vector<End> ends;
  for (const std::optional<Nvml::Device>& device : devices) ends.push_back(look_at(device));
  std::vector<PairLink> links;
  for (std::size_t from = 0; from < ends.size(); ++from) {
    for (std::size_t to = from + 1; to < ends.size(); ++to) {
      PairLink link = link_between(ends[from], ends[to]);
      link.from = static_cast<int>(from);
      link.to = static_cast<int>(to);
      links.push_back(link);
    }
  }
  return links;
}

}  // namespace linkgain

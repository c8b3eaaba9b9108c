#include "nvlink_summary.hpp"

#include <algorithm>

#include "linkgain/telemetry/pci_name.hpp"

namespace linkgain {
namespace {

constexpr const char* kLacksNvlink = "the GPU has no NVLink";
constexpr const char* kNoActive = "no link is active";

bool is_active(const Reading<NvlinkState>& link) { return link.measured() && link.value().active; }

/// Why version and rate are not known where no link is active.
std::string silence_of(const NvlinkStates& links) {
  return links.empty() ? kLacksNvlink : kNoActive;
}

std::vector<int> numbers_of_dark(const NvlinkStates& links) {
  std::vector<int> dark;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (!is_active(links[i])) dark.push_back(static_cast<int>(i));
  }
  return dark;
}

/// The fastest active link's rate and the links that are slower; no rate where one link's is not
/// known, since the links' sum is not then.
void add_rates(const NvlinkStates& links, NvlinkInfo& info) {
  for (const Reading<NvlinkState>& link : links) {
    if (!is_active(link)) continue;
    if (!link.value().rate_gb_per_s.measured()) {
      info.rate_gb_per_s = link.value().rate_gb_per_s;
      return;
    }
    const double rate = link.value().rate_gb_per_s.value();
    info.rate_gb_per_s = std::max(info.rate_gb_per_s.value_or(rate), rate);
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (!is_active(links[i])) continue;
    const double rate = links[i].value().rate_gb_per_s.value();
    if (rate < info.rate_gb_per_s.value()) info.slower.push_back({static_cast<int>(i), rate});
  }
}

}  // namespace

NvlinkStates read_nvlinks(const Nvml::Device& device, const Reading<int>& count) {
  NvlinkStates links;
  for (int i = 0; i < count.value_or(0); ++i) links.push_back(device.nvlink(i));
  return links;
}

std::optional<std::string> unreadable(const NvlinkStates& links) {
  for (const Reading<NvlinkState>& link : links) {
    if (!link.measured()) return link.reason();
  }
  return std::nullopt;
}

Reading<bool> leads_to_switch(const NvlinkStates& links) {
  bool active = false;
  for (const Reading<NvlinkState>& link : links) {
    if (!is_active(link)) continue;
    active = true;
    if (link.value().remote == NvlinkRemote::nvswitch) return true;
    if (link.value().remote == NvlinkRemote::unknown && link.value().remote_pci_bus_id.empty()) {
      return Reading<bool>::missing("the driver does not say where the links lead");
    }
  }
  if (active) return false;
  return Reading<bool>::missing(links.empty() ? kLacksNvlink : kNoActive);
}

Reading<int> joining_links(const NvlinkStates& from, const NvlinkStates& to,
                           const std::string& to_pci_bus_id) {
  if (const auto reason = unreadable(from)) return Reading<int>::missing(*reason);
  const bool shared = leads_to_switch(to).value_or(false);
  int joining = 0;
  for (const Reading<NvlinkState>& link : from) {
    const NvlinkState& state = link.value();
    if (!state.active) continue;
    if (state.remote == NvlinkRemote::nvswitch) {
      joining += shared ? 1 : 0;
    } else if (!state.remote_pci_bus_id.empty()) {
      joining += sysfs_pci_name(state.remote_pci_bus_id) == sysfs_pci_name(to_pci_bus_id) ? 1 : 0;
    } else if (state.remote != NvlinkRemote::npu) {
      return Reading<int>::missing("the driver does not say where the links lead");
    }
  }
  return joining;
}

NvlinkInfo summary_of(const Reading<int>& count, const NvlinkStates& links) {
  NvlinkInfo info;
  info.possible = count;
  const std::optional<std::string> reason = !count.measured() ? count.reason() : unreadable(links);
  const std::string not_known = reason.value_or(silence_of(links));
  info.version = Reading<int>::missing(not_known);
  info.rate_gb_per_s = Reading<double>::missing(not_known);
  int active = 0;
  for (const Reading<NvlinkState>& link : links) {
    if (!is_active(link)) continue;
    ++active;
    if (!info.version.measured()) info.version = link.value().version;
  }
  add_rates(links, info);
  info.active = reason ? Reading<int>::missing(*reason) : Reading<int>(active);
  info.switched = reason ? Reading<bool>::missing(*reason) : leads_to_switch(links);
  info.dark = reason ? Reading<std::vector<int>>::missing(*reason) : numbers_of_dark(links);
  return info;
}

}  // namespace linkgain

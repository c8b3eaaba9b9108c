// Nvml::Device: the GPU's links, what they counted, and what lies between two GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>

#include "linkgain/hardware/pci.hpp"
#include "linkgain/telemetry/nvml.hpp"
#include "linkgain/telemetry/topology_reader.hpp"
#include "nvml_library.hpp"

namespace linkgain {
namespace {

using nvml_api::EnableState;
using nvml_api::kAllLinks;
using nvml_api::kMostNvlinks;
using nvml_api::NvlinkErrorCounter;
using nvml_api::P2pCapability;
using nvml_api::TopologyLevel;

NvlinkRemote to_remote(nvml_api::NvlinkDeviceType type) {
  switch (type) {
    case nvml_api::NvlinkDeviceType::gpu:
      return NvlinkRemote::gpu;
    case nvml_api::NvlinkDeviceType::npu:
      return NvlinkRemote::npu;
    case nvml_api::NvlinkDeviceType::nvswitch:
      return NvlinkRemote::nvswitch;
    case nvml_api::NvlinkDeviceType::unknown:
      return NvlinkRemote::unknown;
  }
  return NvlinkRemote::unknown;  // a type not known to this version
}

/// Returns the PCI id in lower case; empty where the driver hides the device.
std::string bus_id_of(const nvml_api::PciInfo& info) {
  std::string id;
  if (info.domain == nvml_api::kNoPciDomain) {
    return id;
  }
  for (const char letter : info.bus_id) {
    if (letter == '\0') {
      break;
    }
    id.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(letter))));
  }
  return id;
}

constexpr std::int64_t kBytesPerKibibyte = 1024;

/// Returns the reason of the first that is missing; empty if none is.
std::string reason_of(const Reading<std::int64_t>& sent, const Reading<std::int64_t>& received) {
  return sent.measured() ? received.reason() : sent.reason();
}

std::optional<std::int64_t> from_kibibytes(const Reading<std::int64_t>& reading) {
  return reading.measured() ? std::optional(reading.value() * kBytesPerKibibyte) : std::nullopt;
}

Reading<P2pStatus> refused(std::string why_not, bool of_machine = false) {
  return P2pStatus{.ok = false, .why_not = std::move(why_not), .of_machine = of_machine};
}

Reading<P2pStatus> to_status(nvml_api::P2pStatus status) {
  switch (status) {
    case nvml_api::P2pStatus::ok:
      return P2pStatus{.ok = true, .why_not = {}};
    case nvml_api::P2pStatus::chipset_not_supported:
      return refused("chipset not supported", true);
    case nvml_api::P2pStatus::gpu_not_supported:
      return refused("GPU not supported");
    case nvml_api::P2pStatus::io_hub_topology_not_supported:
      return refused("topology of the I/O hub not supported", true);
    case nvml_api::P2pStatus::disabled_by_registry_key:
      return refused("disabled by a registry key of the driver");
    case nvml_api::P2pStatus::not_supported:
      return refused("not supported");
    case nvml_api::P2pStatus::unknown:
      return Missing{"the driver answers: unknown"};
  }
  return Missing{fmt::format("the driver's answer ({}) is not known to this version of linkgain",
                             static_cast<int>(status))};
}

Reading<Ancestor> to_ancestor(TopologyLevel level) {
  switch (level) {
    case TopologyLevel::internal:
    case TopologyLevel::single:
      return Ancestor::pix;
    case TopologyLevel::multiple:
      return Ancestor::pxb;
    case TopologyLevel::host_bridge:
      return Ancestor::phb;
    case TopologyLevel::node:
      return Ancestor::node;
    case TopologyLevel::system:
      return Ancestor::sys;
  }
  return Missing{fmt::format("the driver's answer ({}) is not known to this version of linkgain",
                             static_cast<int>(level))};
}

/// Returns whether it works; absent where it is not known.
std::optional<bool> works(const Reading<P2pStatus>& status) {
  return status.measured() ? std::optional(status.value().ok) : std::nullopt;
}

std::optional<bool> both(std::optional<bool> a, std::optional<bool> b) {
  if (a == false || b == false) {
    return false;
  }
  return a.has_value() && b.has_value() ? std::optional(true) : std::nullopt;
}

constexpr const char* kLacksNvlink = "the GPU has no NVLink";
constexpr const char* kNoActive = "no link is active";

bool is_active(const Reading<NvlinkState>& link) { return link.measured() && link.value().active; }

/// Returns why version and rate are not known where no link is active.
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

/// Adds the fastest active link's rate and the links that are slower; no rate if one link's is not
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

double nvlink_rate_gb_per_s(std::int64_t megabytes_per_second) {
  constexpr double kStep = 1000.0 / 32;  // MB/s
  constexpr double kMegabytesPerGigabyte = 1000.0;
  const auto told = static_cast<double>(megabytes_per_second);
  const double exact = std::ceil(told / kStep) * kStep;
  return (std::floor(exact) == told ? exact : told) / kMegabytesPerGigabyte;
}

Reading<std::string> Nvml::Device::pci_bus_id() const {
  return convert<std::string>(library_->read<nvml_api::PciInfo>(library_->pci_info, handle_),
                              bus_id_of);
}

Reading<int> Nvml::Device::nvlink_count() const {
  const Reading<std::int64_t> count =
      library_->field(handle_, {.id = nvml_api::kFieldNvlinkLinkCount});
  if (count.measured()) {
    return static_cast<int>(std::clamp<std::int64_t>(count.value(), 0, kMostNvlinks));
  }
  // Drivers that lack the field answer for the links that there are and fail from there on.
  for (unsigned int link = 0; link < kMostNvlinks; ++link) {
    const auto state = library_->read<EnableState>(library_->nvlink_state, handle_, link);
    if (!state.measured()) {
      return link > 0 ? Reading<int>(static_cast<int>(link)) : state.missing();
    }
  }
  return static_cast<int>(kMostNvlinks);
}

Reading<double> Nvml::Device::nvlink_rate(unsigned int link) const {
  Reading<std::int64_t> speed =
      library_->field(handle_, {.id = nvml_api::kFieldNvlinkSpeed, .scope = link});
  if (!speed.measured()) {  // drivers before 515
    speed = library_->field(handle_, {.id = nvml_api::kFieldNvlinkCommonSpeed});
  }
  if (!speed.measured()) return speed.missing();
  if (speed.value() <= 0) {
    return Missing{fmt::format("the driver says {} MB/s", speed.value())};
  }
  return nvlink_rate_gb_per_s(speed.value());
}

Reading<bool> Nvml::Device::nvlink_active(int link) const {
  const auto state =
      library_->read<EnableState>(library_->nvlink_state, handle_, static_cast<unsigned int>(link));
  return convert<bool>(state, [](EnableState found) { return found == EnableState::on; });
}

Reading<NvlinkState> Nvml::Device::nvlink(int link) const {
  const auto number = static_cast<unsigned int>(link);
  const Reading<bool> active = nvlink_active(link);
  if (!active.measured()) {
    return active.missing();
  }
  NvlinkState state;
  state.active = active.value();
  state.version = to_int(library_->read<unsigned int>(library_->nvlink_version, handle_, number));
  state.rate_gb_per_s = state.active ? nvlink_rate(number) : Missing{"the link is not active"};
  const auto type =
      library_->read<nvml_api::NvlinkDeviceType>(library_->nvlink_remote_type, handle_, number);
  const auto pci_info =
      library_->read<nvml_api::PciInfo>(library_->nvlink_remote_pci_info, handle_, number);
  state.remote = to_remote(type.value_or(nvml_api::NvlinkDeviceType::unknown));
  state.remote_pci_bus_id = convert<std::string>(pci_info, bus_id_of).value_or("");
  return state;
}

PcieInfo Nvml::Device::pcie() const {
  const NvmlLibrary& nvml = *library_;
  return {.generation = to_int(nvml.read<unsigned int>(nvml.pcie_generation, handle_)),
          .width = to_int(nvml.read<unsigned int>(nvml.pcie_width, handle_)),
          .most_generation = to_int(nvml.read<unsigned int>(nvml.most_pcie_generation, handle_)),
          .most_width = to_int(nvml.read<unsigned int>(nvml.most_pcie_width, handle_))};
}

void Nvml::Device::read_links(GpuInfo& gpu) const {
  const NvmlLibrary& nvml = *library_;
  gpu.pcie_generation = to_int(nvml.read<unsigned int>(nvml.pcie_generation, handle_)).optional();
  gpu.pcie_width = to_int(nvml.read<unsigned int>(nvml.pcie_width, handle_)).optional();

  const Reading<int> count = nvlink_count();
  const NvlinkInfo links = summary_of(count, read_nvlinks(*this, count));
  gpu.nvlink_version = links.version.optional();
  gpu.nvlink_links = links.possible.optional();
  gpu.nvlink_links_active = links.active.optional();
  gpu.nvlink_rate_gb_per_s = links.rate_gb_per_s.optional();
  for (const SlowNvlink& link : links.slower) {
    gpu.nvlink_rate_gb_per_s = std::min(*gpu.nvlink_rate_gb_per_s, link.rate_gb_per_s);
  }
  gpu.nvlink_total_gb_per_s = rate_of(links).optional();
}

LinkCounters Nvml::Device::link_counters(AbsentCounters* why) const {
  const auto values = library_->fields(handle_, {{nvml_api::kFieldNvlinkDataSent, kAllLinks},
                                                 {nvml_api::kFieldNvlinkDataReceived, kAllLinks},
                                                 {nvml_api::kFieldPcieSent, 0},
                                                 {nvml_api::kFieldPcieReceived, 0}});
  if (why != nullptr) *why = {reason_of(values[0], values[1]), reason_of(values[2], values[3])};
  return {.nvlink_sent = from_kibibytes(values[0]),
          .nvlink_received = from_kibibytes(values[1]),
          .pcie_sent = values[2].optional(),
          .pcie_received = values[3].optional()};
}

/// Reads Hopper's fields. Missing if one of the three is.
Reading<NvlinkErrors> Nvml::Device::error_fields(unsigned int scope) const {
  const auto values = library_->fields(handle_, {{nvml_api::kFieldNvlinkReplays, scope},
                                                 {nvml_api::kFieldNvlinkRecoveries, scope},
                                                 {nvml_api::kFieldNvlinkCrcErrors, scope}});
  for (const Reading<std::int64_t>& value : values) {
    if (!value.measured()) return value.missing();
  }
  return NvlinkErrors{
      .replays = values[0].value(), .recoveries = values[1].value(), .crc = values[2].value()};
}

Reading<NvlinkErrors> Nvml::Device::nvlink_errors(int link) const {
  const auto number = static_cast<unsigned int>(link);
  if (const Reading<NvlinkErrors> all = error_fields(number); all.measured()) return all;
  NvlinkErrors found;
  // Not crc_data: a healthy H200 counts there, too, where its field of CRC errors stays 0.
  for (const auto& [counter, value] : {std::pair(NvlinkErrorCounter::replay, &found.replays),
                                       std::pair(NvlinkErrorCounter::recovery, &found.recoveries),
                                       std::pair(NvlinkErrorCounter::crc_flit, &found.crc)}) {
    const auto errors = library_->read<unsigned long long>(library_->nvlink_error_counter, handle_,
                                                           number, counter);
    if (!errors.measured()) return errors.missing();
    *value = static_cast<std::int64_t>(errors.value());
  }
  return found;
}

Reading<NvlinkErrors> Nvml::Device::nvlink_errors() const {
  if (const Reading<NvlinkErrors> all = error_fields(kAllLinks); all.measured()) return all;
  const Reading<int> count = nvlink_count();
  if (!count.measured()) return count.missing();
  NvlinkErrors sum;
  for (int link = 0; link < count.value(); ++link) {
    if (!nvlink_active(link).value_or(false)) continue;
    const Reading<NvlinkErrors> own = nvlink_errors(link);
    if (!own.measured()) return own;
    sum.replays += own.value().replays;
    sum.recoveries += own.value().recoveries;
    sum.crc += own.value().crc;
  }
  return sum;
}

Reading<std::int64_t> Nvml::Device::pcie_replays() const {
  return convert<std::int64_t>(library_->read<unsigned int>(library_->pcie_replays, handle_),
                               [](unsigned int count) { return std::int64_t{count}; });
}

Reading<Ancestor> Nvml::Device::common_ancestor(const Device& peer) const {
  if (handle_ == peer.handle_) {
    return Ancestor::self;
  }
  const auto level =
      library_->read<TopologyLevel>(library_->common_ancestor, handle_, peer.handle_);
  return level.measured() ? to_ancestor(level.value()) : level.missing();
}

Reading<P2pStatus> Nvml::Device::p2p(const Device& peer, P2pCapability capability) const {
  const auto status =
      library_->read<nvml_api::P2pStatus>(library_->p2p_status, handle_, peer.handle_, capability);
  return status.measured() ? to_status(status.value()) : status.missing();
}

Reading<P2pStatus> Nvml::Device::p2p_read(const Device& peer) const {
  return p2p(peer, P2pCapability::read);
}

Reading<P2pStatus> Nvml::Device::p2p_write(const Device& peer) const {
  return p2p(peer, P2pCapability::write);
}

Reading<P2pStatus> Nvml::Device::p2p_atomics(const Device& peer) const {
  return p2p(peer, P2pCapability::atomics);
}

Reading<P2pStatus> Nvml::Device::p2p_over_nvlink(const Device& peer) const {
  return p2p(peer, P2pCapability::nvlink);
}

PairLink Nvml::Device::link_to(const Device& peer) const {
  PairLink link;
  link.p2p = both(works(p2p_read(peer)), works(p2p_write(peer)));
  link.nvlink = works(p2p_over_nvlink(peer));
  link.ancestor = common_ancestor(peer).optional();
  return link;
}

NvlinkStates read_nvlinks(const Nvml::Device& device, const Reading<int>& count) {
  if (!count.measured() && count.why() != WhyMissing::unsupported) return {count.missing()};
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
      return Missing{"the driver does not say where the links lead"};
    }
  }
  if (active) return false;
  return Missing{silence_of(links)};
}

Reading<int> joining_links(const NvlinkStates& from, const NvlinkStates& to,
                           const std::string& to_pci_bus_id) {
  if (const auto reason = unreadable(from)) return Missing{*reason};
  const std::optional<std::string> unknown = unreadable(to);
  const bool shared = leads_to_switch(to).value_or(false);
  int joining = 0;
  for (const Reading<NvlinkState>& link : from) {
    const NvlinkState& state = link.value();
    if (!state.active) continue;
    if (state.remote == NvlinkRemote::nvswitch) {
      if (unknown && !shared) return Missing{*unknown};
      joining += shared ? 1 : 0;
    } else if (!state.remote_pci_bus_id.empty()) {
      if (to_pci_bus_id.empty()) {
        return Missing{unknown.value_or("the driver does not say the GPU's PCI id")};
      }
      joining += sysfs_pci_name(state.remote_pci_bus_id) == sysfs_pci_name(to_pci_bus_id) ? 1 : 0;
    } else if (state.remote != NvlinkRemote::npu) {
      return Missing{"the driver does not say where the links lead"};
    }
  }
  return joining;
}

NvlinkInfo summary_of(const Reading<int>& count, const NvlinkStates& links) {
  NvlinkInfo info;
  info.possible = count;
  const std::optional<std::string> reason = !count.measured() ? count.reason() : unreadable(links);
  const std::string not_known = reason.value_or(silence_of(links));
  info.version = Missing{not_known};
  info.rate_gb_per_s = Missing{not_known};
  int active = 0;
  for (const Reading<NvlinkState>& link : links) {
    if (!is_active(link)) continue;
    ++active;
    if (!info.version.measured()) info.version = link.value().version;
    const std::string& peer = link.value().remote_pci_bus_id;
    const bool is_gpu = link.value().remote == NvlinkRemote::gpu && !peer.empty();
    if (is_gpu && std::ranges::count(info.peers, peer) == 0) info.peers.push_back(peer);
  }
  add_rates(links, info);
  info.active = reason ? Missing{*reason} : Reading<int>(active);
  info.switched = reason ? Missing{*reason} : leads_to_switch(links);
  info.dark = reason ? Missing{*reason} : Reading(numbers_of_dark(links));
  return info;
}

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

// Nvml::Device: what lies between two GPUs.
#include <fmt/format.h>

#include "linkgain/telemetry/nvml.hpp"
#include "nvml_library.hpp"
#include "nvml_readings.hpp"

namespace linkgain {
namespace {

using nvml_api::P2pCapability;
using nvml_api::TopologyLevel;

Reading<P2pStatus> refused(std::string why_not) {
  return P2pStatus{.ok = false, .why_not = std::move(why_not)};
}

Reading<P2pStatus> to_status(nvml_api::P2pStatus status) {
  switch (status) {
    case nvml_api::P2pStatus::ok:
      return P2pStatus{.ok = true, .why_not = {}};
    case nvml_api::P2pStatus::chipset_not_supported:
      return refused("chipset not supported");
    case nvml_api::P2pStatus::gpu_not_supported:
      return refused("GPU not supported");
    case nvml_api::P2pStatus::io_hub_topology_not_supported:
      return refused("topology of the I/O hub not supported");
    case nvml_api::P2pStatus::disabled_by_registry_key:
      return refused("disabled by a registry key of the driver");
    case nvml_api::P2pStatus::not_supported:
      return refused("not supported");
    case nvml_api::P2pStatus::unknown:
      return Reading<P2pStatus>::missing("the driver answers: unknown");
  }
  return Reading<P2pStatus>::missing(
      fmt::format("the driver's answer ({}) is younger than linkgain", static_cast<int>(status)));
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
  return Reading<Ancestor>::missing(
      fmt::format("the driver's answer ({}) is younger than linkgain", static_cast<int>(level)));
}

/// Whether it works; absent where it is not known.
std::optional<bool> works(const Reading<P2pStatus>& status) {
  return status.measured() ? std::optional(status.value().ok) : std::nullopt;
}

std::optional<bool> both(std::optional<bool> a, std::optional<bool> b) {
  if (a == false || b == false) {
    return false;
  }
  return a.has_value() && b.has_value() ? std::optional(true) : std::nullopt;
}

}  // namespace

Reading<Ancestor> Nvml::Device::common_ancestor(const Device& peer) const {
  if (handle_ == peer.handle_) {
    return Ancestor::self;
  }
  const auto level =
      library_->read<TopologyLevel>(library_->common_ancestor, handle_, peer.handle_);
  return level.measured() ? to_ancestor(level.value()) : Reading<Ancestor>::missing(level.reason());
}

Reading<P2pStatus> Nvml::Device::p2p(const Device& peer, P2pCapability capability) const {
  const auto status =
      library_->read<nvml_api::P2pStatus>(library_->p2p_status, handle_, peer.handle_, capability);
  return status.measured() ? to_status(status.value())
                           : Reading<P2pStatus>::missing(status.reason());
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

}  // namespace linkgain

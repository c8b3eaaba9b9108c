#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "linkgain/hardware/machine.hpp"

namespace linkgain {

/// Whether NVLink joins the pair: by the links counted for it, else as the driver says. Absent
/// where neither is known.
std::optional<bool> over_nvlink(const PairLink& link);

/// How the pair is joined, whatever the number of its links: "NVLink", or the nearest thing in
/// common by PCIe, "PHB"; with " without P2P" where the driver says so. Empty where nothing is
/// known.
std::string way_label(const PairLink& link);

/// way_label() with the number of links, "NV4": as counted for the pair; where that was not done,
/// as the GPU has active if the machine's two GPUs are all there are; else it stays "NVLink".
std::string link_label(const Machine& machine, const PairLink& link);

/// Whether two machines' ways between the same ranks differ in something that is known of both. A
/// number counted for one pair and not for the other is no difference.
bool links_differ(const Machine& machine, const PairLink& link, const Machine& other_machine,
                  const PairLink& other);

/// What joins two devices, as matrices name it (pair_label()).
struct LinkLabel {
  std::string_view label;
  std::string_view meaning;
};

/// From the longest way to the shortest.
inline constexpr std::array kLinkLabels{
    LinkLabel{"SYS", "PCIe and the link between NUMA nodes (UPI, Infinity Fabric)"},
    LinkLabel{"NODE", "PCIe and what joins the host bridges of one NUMA node"},
    LinkLabel{"PHB", "PCIe and one host bridge, usually the CPU's own"},
    LinkLabel{"PXB", "several PCIe switches, no host bridge"},
    LinkLabel{"PIX", "one PCIe switch at most"},
    LinkLabel{"NV#", "# NVLinks, straight to the other GPU or through a switch"},
};

/// Whether a label of a matrix is of this kind: "NV18" is called "NV#", "NV?" is not.
inline bool is_called(const LinkLabel& kind, std::string_view label) {
  const bool nvlink = label.starts_with("NV") && label != "NV?";
  return nvlink ? kind.label == "NV#" : kind.label == label;
}

}  // namespace linkgain

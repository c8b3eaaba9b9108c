#pragma once

#include <array>
#include <string_view>

namespace linkgain {

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

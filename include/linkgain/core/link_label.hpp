#pragma once

#include <optional>
#include <string>

#include "linkgain/core/machine.hpp"

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

}  // namespace linkgain

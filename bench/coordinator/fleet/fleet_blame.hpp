#pragma once

#include <string>
#include <vector>

#include "linkgain/fleet/fleet.hpp"

namespace linkgain {

/// Which GPU or pair of GPUs the slow cases of pairs point to: a GPU of which every measured pair
/// is slow, where such GPUs have part in all slow pairs; else the slow pairs. `slow` are numbers of
/// `names`. Empty where no pair is slow.
std::string blame_by_pairs(const FleetRecord& record, const std::vector<std::uint32_t>& slow,
                           const FleetNames& names);

}  // namespace linkgain

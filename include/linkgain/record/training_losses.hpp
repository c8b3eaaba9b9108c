#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// Losses of one variant by launch and round.
using Losses = std::map<std::pair<int, int>, double>;

Losses losses_of(const std::vector<const Sample*>& samples);

/// Of samples that both have, the largest |other - first| over |first|: infinite where only one is
/// a number, absent where they have none in common.
std::optional<double> largest_difference(const Losses& first, const Losses& other);

}  // namespace linkgain

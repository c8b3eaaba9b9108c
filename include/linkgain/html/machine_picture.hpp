#pragma once

#include <string>
#include <string_view>

#include "linkgain/hardware/machine.hpp"

namespace linkgain {

/// Shows a machine as a picture and, folded, as a matrix: for each host its GPUs and what joins
/// them, the links to the host's processors, and which processors the GPUs share. Without GPUs the
/// ranks stand in their place. Empty where there are no ranks. `id` is unique on the page.
std::string machine_figure(const Machine& machine, std::string_view id);

/// Makes an SVG file of the picture below a sentence, without names of hosts, which a picture that
/// is shown need not have.
std::string machine_svg(const Machine& machine, const std::string& sentence);

}  // namespace linkgain

#pragma once

#include <string>
#include <string_view>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// The machine of a run as a picture and, folded, as tables: for each host its GPUs and what joins
/// them, the links to the host's processors, and which processors the GPUs share. Without GPUs the
/// ranks stand in their place. Empty where the record has no ranks.
std::string machine_figure(const Record& record, std::string_view id);

}  // namespace linkgain

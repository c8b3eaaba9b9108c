#pragma once

#include <string_view>
#include <vector>

#include "linkgain/exec/exec_plan.hpp"

namespace linkgain {

/// Lists the engines that --preset knows.
std::vector<std::string_view> preset_names();

/// Fills in what --preset has for an engine: its server and the line at which that is ready, the
/// client, its metrics, and variants with the engine's own switch. What was asked for explicitly
/// stays. Returns the options as they are without --preset. Throws UsageError for an engine that is
/// not known.
ExecOptions with_preset(ExecOptions options);

}  // namespace linkgain

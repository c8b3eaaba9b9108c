#pragma once

#include <string_view>
#include <vector>

#include "linkgain/exec/exec_options.hpp"
#include "linkgain/record/variants.hpp"

namespace linkgain {

/// Lists the engines that --preset knows.
std::vector<std::string_view> preset_names();

/// Fills in what --preset has for an engine: its server and the line at which that is ready, the
/// client, its metrics, and variants. What was asked for explicitly stays, with the preset's own
/// line in the place of {preset}. Returns the options as they are without --preset. Throws
/// UsageError for an engine that is not known.
ExecOptions with_preset(ExecOptions options);

/// Gives each variant, whoever named it, what --preset has for an engine whose variants differ in
/// P2P alone: the engine's own switch of P2P, and options that all have in common. What a variant
/// or its --args name already stays. Throws UsageError for a server that would leave its arguments
/// to the client.
void add_engine_words(std::vector<Variant>& variants, const ExecOptions& options);

}  // namespace linkgain

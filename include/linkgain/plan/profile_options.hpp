#pragma once

#include <string_view>

namespace linkgain {

/// Throws UsageError for what a profile's file, which anybody may have written, may not say: which
/// programs and libraries are started or opened, and where files are written. The command line may.
/// `name` is an option without "--", `value` one of its values.
void require_harmless(std::string_view name, std::string_view value);

}  // namespace linkgain

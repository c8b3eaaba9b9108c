#pragma once

#include <string_view>

namespace linkgain {

/// Whether a whole text fits a pattern, in which `*` stands for any characters, slashes too, and
/// `?` for one.
bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace linkgain

#pragma once

#include <string_view>

namespace linkgain {

/// The style sheet of every page.
extern const std::string_view kPageStyle;

}  // namespace linkgain

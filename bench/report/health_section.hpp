#pragma once

#include <string>

#include "linkgain/core/record.hpp"

namespace linkgain {

/// The report's section: health_line() and the same for each variant, or empty.
std::string health_section(const Record& record);

}  // namespace linkgain

#pragma once

#include <string>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// The report's section: health_line(), and SM clock and what held samples back for each variant;
/// or empty.
std::string health_section(const Record& record);

}  // namespace linkgain

#pragma once

#include <string_view>

namespace linkgain {

/// baseline.schema.json, as it stood when this was built.
std::string_view baseline_schema();

}  // namespace linkgain

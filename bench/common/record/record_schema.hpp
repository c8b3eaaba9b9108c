#pragma once

#include <string_view>

namespace linkgain {

/// record.schema.json, as it stood when this was built.
std::string_view record_schema();

}  // namespace linkgain

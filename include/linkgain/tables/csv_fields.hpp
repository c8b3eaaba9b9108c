#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace linkgain {

/// RFC 4180: fields with separators, quotes or line breaks are quoted, quotes within them doubled.
/// Bytes that are no UTF-8 become U+FFFD.
std::string csv_field(std::string_view text);

/// The shortest digits that read back as the same number; empty where absent.
std::string csv_field(std::optional<double> value);

}  // namespace linkgain

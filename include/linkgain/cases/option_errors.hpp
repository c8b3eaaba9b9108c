#pragma once

#include <string>

namespace linkgain {

/// CLI11's "Could not convert: --np = 1.5" in words that say why: "--np 1.5 is no whole number",
/// "is no number" or "is out of range". Other texts are given back as they are.
std::string describe_conversion_error(const std::string& error);

}  // namespace linkgain

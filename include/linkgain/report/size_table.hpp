#pragma once

#include <string>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// One Markdown table per curve with a row per size: every variant's time and bus bandwidth, the
/// speed-up with its 95 % interval, less time, and marks. Below it stand the curve's steps
/// (find_steps()) and what the marks mean. Without the curves whose only size is in pair_tables().
std::string size_tables(const Record& record);

}  // namespace linkgain

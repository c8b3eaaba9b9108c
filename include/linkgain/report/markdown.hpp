#pragma once

#include <string>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// The whole report: title, headline, warnings, tables by size, variants, machine, how to repeat
/// it.
std::string markdown_report(const Record& record);

}  // namespace linkgain

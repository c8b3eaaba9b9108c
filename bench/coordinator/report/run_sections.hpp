#pragma once

#include <string>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// The parts of a report that speak of the run and the machine: each a Markdown section with its
/// heading, or empty where the record holds nothing for it.
std::string warnings_section(const Record& record);
std::string variants_section(const Record& record);
std::string machine_section(const Record& record);
std::string repeat_section(const Record& record);

}  // namespace linkgain

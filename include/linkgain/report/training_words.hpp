#pragma once

#include <string>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// The file that a run's trainings read, or "generated tokens".
std::string readable_tokens(const Settings& settings);

}  // namespace linkgain

#pragma once

#include <string>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// The command that measures the same again, for a shell.
std::string repetition(const Settings& settings);

}  // namespace linkgain

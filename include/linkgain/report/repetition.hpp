#pragma once

#include <cstddef>
#include <string>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// The command that measures the same again, for a shell. `ranks`: the run's; 0 where not known.
std::string repetition(const Settings& settings, std::size_t ranks);

}  // namespace linkgain

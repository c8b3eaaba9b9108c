#pragma once

#include <string>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// The state of the GPUs over all samples, in one line:
/// "Health: 34–48 °C, 80–310 W, SM 1980 MHz, no sample held back\n". Empty where the record has no
/// samples of GPUs.
std::string health_line(const Record& record);

}  // namespace linkgain

#pragma once

#include <string>

#include "linkgain/core/health.hpp"

namespace linkgain {

/// "160 of 2400 samples were taken while a GPU was held back (thermal slowdown (hardware))", power
/// limits left out; empty where none was.
std::string held_back_text(const HealthSummary& health);

/// What is to be done about it.
inline constexpr const char* kHeldBackAdvice =
    "mend cooling or power and measure again: linkgain doctor says what is wrong";

}  // namespace linkgain

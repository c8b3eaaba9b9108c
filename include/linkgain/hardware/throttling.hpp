#pragma once

#include <string>

#include "linkgain/hardware/health.hpp"

namespace linkgain {

/// "thermal slowdown (hardware), power brake": what held a GPU back in these samples, power limits
/// left out; empty where nothing did.
std::string held_back_by(const HealthSummary& health);

/// "160 of 2400 samples were taken while a GPU was held back (thermal slowdown (hardware))";
/// empty where none was.
std::string held_back_text(const HealthSummary& health);

/// What is to be done about it.
inline constexpr const char* kHeldBackAdvice =
    "mend cooling or power and measure again: linkgain doctor says what is wrong";

}  // namespace linkgain

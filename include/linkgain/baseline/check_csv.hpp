#pragma once

#include <string>

#include "linkgain/baseline/regression.hpp"

namespace linkgain {

/// One row per case and variant below one header row. Shifts are shares of the reference; what is
/// not known is empty.
std::string check_csv(const CheckResult& result);

}  // namespace linkgain

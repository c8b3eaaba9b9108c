#pragma once

#include <string>

#include "linkgain/baseline/regression.hpp"

namespace linkgain {

/// A check as text for a terminal: what fails first, a line for each case that fails, is open or
/// too good to be true, warnings, and a last line that sums up.
std::string check_table(const CheckResult& result);

}  // namespace linkgain

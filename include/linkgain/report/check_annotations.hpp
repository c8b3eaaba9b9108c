#pragma once

#include <string>

#include "linkgain/baseline/regression.hpp"

namespace linkgain {

/// GitHub's workflow commands, a line each: an error for each case that fails, a warning for each
/// that is inconclusive, a notice for what is too good to be true.
std::string check_annotations(const CheckResult& result);

}  // namespace linkgain

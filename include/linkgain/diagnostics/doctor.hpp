#pragma once

#include <vector>

#include "linkgain/diagnostics/finding.hpp"

namespace linkgain {

struct Survey;

/// Every check of `linkgain doctor` on what was surveyed; pure.
std::vector<Finding> check_machine(const Survey& survey);

}  // namespace linkgain

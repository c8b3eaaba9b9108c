#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "linkgain/diagnostics/finding.hpp"
#include "linkgain/diagnostics/survey.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/hardware/topology.hpp"

namespace linkgain {

/// Every check of `linkgain doctor` on what was surveyed; pure.
std::vector<Finding> check_machine(const Survey& survey);

}  // namespace linkgain

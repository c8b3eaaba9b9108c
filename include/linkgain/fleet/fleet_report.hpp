#pragma once

#include <string>

#include "linkgain/compare/comparison_report.hpp"
#include "linkgain/fleet/fleet.hpp"

namespace linkgain {

/// A line for each node, the worst first; then which to drain, with Slurm's command, and counts.
std::string fleet_report(const FleetReport& report, TableStyle style);

/// A row for each node; units stand in the names, all digits are kept.
std::string fleet_csv(const FleetReport& report);

}  // namespace linkgain

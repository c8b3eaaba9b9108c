#pragma once

#include <string>

#include "linkgain/summary/run_summary.hpp"

namespace linkgain {

/// Writes one row per case and variant below one header row, for spreadsheets and scripts. Columns
/// keep their names and order; new ones are added at the end. Units stand in the names; not
/// measured is empty. A ratio is the row's variant against the first one, and stands whatever paths
/// the two took.
std::string csv(const RunSummary& summary);

}  // namespace linkgain

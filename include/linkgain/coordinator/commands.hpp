#pragma once

#include "linkgain/coordinator/cli.hpp"
#include "linkgain/core/errors.hpp"

namespace linkgain {

/// `linkgain run`: measures, prints the table, writes the files. The status may be that of a
/// signal.
int run_command(const RunOptions& options);

/// `linkgain report`: prints a record's report.
int report_command(const ReportOptions& options);

}  // namespace linkgain

#pragma once

#include "cli.hpp"

namespace linkgain {

/// `linkgain report`: prints a record's report. Returns the exit status; throws UsageError where
/// the record cannot be read.
int report_command(const ReportOptions& options);

}  // namespace linkgain

#pragma once

#include "linkgain/record/record.hpp"

namespace linkgain {

/// Whether the case is the time from a server's start to its being ready.
bool is_start_up(const Case& definition);

/// Adds what is to be known of runs that are over and summarised: why they claim less than their
/// intervals say, or why these are wide.
void warn_of_runs(Record& record);

}  // namespace linkgain

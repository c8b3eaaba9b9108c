#pragma once

#include <string>

#include "linkgain/formats/record_selection.hpp"

namespace linkgain {

/// One variant of a run as Google Benchmark's JSON, which its tools/compare.py and `linkgain
/// compare` read: a benchmark of each case, under its name; the launches are its repetitions, each
/// with its median as real_time (us), the bandwidths as counters; mean, median, stddev and cv over
/// them as aggregates where there are two or more. cpu_time, which linkgain does not measure and
/// readers insist on, repeats real_time. What was not measured, or gave wrong data, has
/// error_occurred. Throws as selected_variant() and selected_cases().
std::string google_benchmark_json(const Record& record, const RecordSelection& selection);

}  // namespace linkgain

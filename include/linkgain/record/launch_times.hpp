#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// By launch, in the order measured.
using LaunchTimes = std::map<int, std::vector<double>>;

/// Of the samples of one variant (by place) of `result`, which is one of the record's.
LaunchTimes launch_times(const Record& record, const CaseResult& result, std::size_t variant);

}  // namespace linkgain

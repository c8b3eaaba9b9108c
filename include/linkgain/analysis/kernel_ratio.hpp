#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// Gives ratio_between() our kernel, of which the case at `place` of the record is one, and NCCL's
/// operation or the copy engine: how many times longer the library takes. `means` are the record's.
/// Absent for other cases, and where either has no time of right data.
std::optional<Estimate> library_ratio(const Record& record, const LaunchMeans& means,
                                      std::size_t place, std::string_view variant);

}  // namespace linkgain

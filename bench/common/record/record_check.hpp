#pragma once

#include "linkgain/record/record.hpp"

namespace linkgain {

/// How a record's numbers are compared with its samples.
enum class Agreement {
  within_samples,  ///< as they must lie, however they were made: records without a digest
  exact,           ///< as summarise() makes them, within 1e-9
};

/// Throws UsageError where what is said in two places of a record differs: a program's cases among
/// those of linkgain or the other way round, variants in another order, an interval without its
/// ratio, a launch that was not planned, times and ratios that its samples do not give.
void require_consistent(const Record& record, Agreement agreement);

}  // namespace linkgain

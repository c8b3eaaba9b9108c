#pragma once

#include "linkgain/record/record.hpp"

namespace linkgain {

/// How a record's numbers are compared with its samples.
enum class Agreement {
  within_samples,  ///< as they must lie, however they were made: of the time before digests
  exact,           ///< as summarise() makes them, within 1e-9
};

/// What is asked of a record that has digests, or none. Programs that write digests write each
/// variant's software, too: who only leaves the digest out does not make a record an older one.
Agreement agreement_of(const Record& record, bool digested);

/// Throws UsageError where what is said in two places of a record differs: a program's cases among
/// those of linkgain or the other way round, ranks or variants in another order, a link of a rank
/// that is not there, bytes that the case does not move, an interval without its ratio, a launch
/// that was not planned, an error where nothing is wrong, a sample longer than the run, times and
/// ratios that its samples do not give, or that have none.
void require_consistent(const Record& record, Agreement agreement);

}  // namespace linkgain

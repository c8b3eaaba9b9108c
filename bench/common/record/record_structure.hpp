#pragma once

#include "linkgain/record/record.hpp"

namespace linkgain {

/// Throws UsageError where a record's parts do not belong together: a program's cases among those
/// of linkgain or the other way round, ranks or variants in another order or there twice, a link of
/// a rank that is not there, a launch that was not planned, more wrong elements than checked ones.
void require_structure(const Record& record);

/// Gives each case of a record that was read what its samples give, by summarise(), after
/// require_structure().
void derive_results(Record& record);

}  // namespace linkgain

#pragma once

#include "linkgain/baseline/regression.hpp"
#include "linkgain/tables/table.hpp"

namespace linkgain {

/// The table of what a reader must see, the worst first, and the tolerance of all where it is one;
/// nothing where all is well. Missing cases of one variant and reason are one row.
void add_check_rows(StyledText& text, const CheckResult& result, TableStyle style);

}  // namespace linkgain

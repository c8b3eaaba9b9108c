#pragma once

#include <vector>

#include "linkgain/cases/selection.hpp"

namespace linkgain {

/// Throws UsageError where a pair, a root or a parameter was asked for that none of the selections'
/// operations has on `backend`.
void require_use_of_options(const std::vector<Selection>& selections);

}  // namespace linkgain

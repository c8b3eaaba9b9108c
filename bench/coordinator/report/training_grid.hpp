#pragma once

#include <string>
#include <vector>

#include "linkgain/record/record.hpp"

namespace linkgain {

/// One table over trainings of `record`, which communicate and were measured, and what its columns
/// and marks mean: a row for each with the variants side by side; where there are more than two, a
/// row for each training and variant. `trainings` has at least one.
std::string training_grid(const Record& record, const std::vector<const CaseResult*>& trainings);

}  // namespace linkgain

#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "linkgain/analysis/training_summary.hpp"

/// What the tables of trainings have in common.
namespace linkgain {

/// The time of all steps, "15.90 s", or what stands in its place.
std::string training_time_cell(const Record& record, const VariantResult& variant);

/// Exposed communication of a step where it is to be shown: not of wrong data.
std::optional<ExposedCommunication> shown_exposed(const Record& record, const CaseResult& result,
                                                  std::size_t variant);

}  // namespace linkgain

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "linkgain/cases/operation.hpp"
#include "linkgain/record/record.hpp"

namespace linkgain {

/// What of a record goes into a format that knows one path through the machine and no other.
struct RecordSelection {
  std::string variant;                    ///< empty: the run's first
  std::vector<OperationKind> operations;  ///< empty: all
};

/// Where the selected variant stands among those of the run. Throws UsageError with the names there
/// are where it has none such, and of a run of `linkgain exec`, which has no operations.
std::size_t selected_variant(const Record& record, const RecordSelection& selection);

/// Cases of the selected operations in the record's order. Throws UsageError where there are none.
std::vector<const CaseResult*> selected_cases(const Record& record,
                                              const RecordSelection& selection);

/// The variables that were in force in that variant, by its place.
Environment environment_of(const Record& record, std::size_t variant);

}  // namespace linkgain

#pragma once

#include <vector>

#include "linkgain/base/environment.hpp"
#include "linkgain/cases/selection.hpp"
#include "linkgain/record/record.hpp"

/// What `linkgain run --tune` races: settings of NCCL as variants.
namespace linkgain {

/// Returns the variants of a race for these operations: the default, which sets nothing; one that
/// takes the caller's variables away that decide about NCCL's speed, where there are any; and the
/// candidates that matter to each of the operations. Throws UsageError where none does.
std::vector<Variant> tuning_variants(const std::vector<OperationKind>& operations,
                                     const Environment& caller);

/// Returns what they are measured by: operations, or an all-reduce, of the sizes at which NCCL
/// changes algorithm and protocol, by graph where there are graphs.
std::vector<Selection> tuning_selections(const std::vector<OperationKind>& operations,
                                         BackendKind backend);

}  // namespace linkgain

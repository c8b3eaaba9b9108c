#pragma once

#include "linkgain/core/errors.hpp"
#include "linkgain/core/record.hpp"

namespace linkgain {

/// What a finished record says about itself: adds a warning for wrong data, a wrong path, cases
/// that did not converge, variants that took the same road, variables inherited from the caller
/// that steer NCCL, and returns the exit code (design.md's order: incomplete, wrong data, wrong
/// path, success).
///
/// Wrong path: a variant that turns P2P off moved its messages by P2P, or the variant that forces
/// nothing did not use P2P although every pair is joined by NVLink and nothing in its environment
/// forbids it.
ExitCode judge(Record& record);

/// A variable as the variant's worker saw it, else as the variant sets it; empty where it is not
/// set.
std::string variable_of(const Record& record, const std::string& variant,
                        std::string_view variable);

/// Whether the variants differ in a switch of NCCL's that opens or closes a road. Algorithms and
/// protocols go down whatever road there is.
bool choose_roads(const Record& record, const VariantResult& first, const VariantResult& other);

/// Whether two variants of a case are known to have taken the same road.
bool same_road(const VariantResult& a, const VariantResult& b);

}  // namespace linkgain

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/verify/pattern.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/runtime/data_mapping.hpp"

namespace linkgain {

/// Fills CPU memory with a rank's known input; `bytes` is a whole number of elements of a type
/// that the mpi backend has.
void fill_input(std::span<std::byte> bytes, const kernels::Pattern& pattern, int rank);

/// Compares every element of a part of `output` with what must stand there.
Verification check_part(std::span<const std::byte> output, const kernels::Pattern& pattern,
                        const ExpectedPart& part);

/// Checks all parts of one output together.
Verification check_parts(std::span<const std::byte> output, const kernels::Pattern& pattern,
                         const std::vector<ExpectedPart>& parts);

}  // namespace linkgain

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/pattern.hpp"
#include "linkgain/core/record.hpp"

namespace linkgain {

/// Fills CPU memory with a rank's known input; `bytes` is a whole number of elements of a type
/// that the mpi backend has.
void fill_input(std::span<std::byte> bytes, const kernels::Pattern& pattern, int rank);

/// Compares every element with the reduction over all ranks.
Verification check_reduction(std::span<const std::byte> bytes, const kernels::Pattern& pattern);

/// Compares every element with the input of rank `sender`.
Verification check_input(std::span<const std::byte> bytes, const kernels::Pattern& pattern,
                         int sender);

}  // namespace linkgain

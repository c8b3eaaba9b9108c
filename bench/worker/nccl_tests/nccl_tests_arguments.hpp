#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "linkgain/base/units.hpp"

/// How nccl-tests reads single arguments.
namespace linkgain {

/// A number as C reads it, then the first letter of a unit: K, M or G, powers of 1024. What follows
/// that letter does not count, and bytes are cut to whole ones. Throws UsageError, which names
/// `flag`, for what nccl-tests refuses, for what is no number of bytes (nan) and for less than
/// `least`.
Bytes parse_nccl_tests_size(std::string_view flag, const std::string& text, Bytes least);

/// Those of `flags` ("--minbytes") that a long argument ("--min", "--min=8") may stand for: the one
/// of that very name, else all that begin so.
std::vector<std::string> flags_meant_by(std::string_view argument,
                                        const std::vector<std::string>& flags);

/// The arguments with those of `flags` that are shortened written in full. Throws UsageError where
/// one may stand for several.
std::vector<std::string> with_flags_in_full(const std::vector<std::string>& arguments,
                                            const std::vector<std::string>& flags);

/// Whether nccl-tests would write JSON to a file of this name: capitals or not.
bool has_json_extension(std::string_view file);

}  // namespace linkgain

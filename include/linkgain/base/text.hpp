#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace linkgain {

/// The candidate with the smallest edit distance to `name`; empty when there are no candidates.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

/// "unknown operation 'all_reduc': did you mean all_reduce? (all_reduce, send_recv)"
std::string unknown_name(std::string_view what, std::string_view name,
                         std::span<const std::string_view> candidates);

/// Splits at a separator; an empty text gives no parts, empty parts are kept.
std::vector<std::string> split(std::string_view text, char separator);

/// "A", "A and B", "A, B and C".
std::string listed(std::span<const std::string_view> names, std::string_view last = "and");

/// "--steps goes with", "--steps and --tokens go with".
std::string go_with(std::span<const std::string_view> options);

}  // namespace linkgain

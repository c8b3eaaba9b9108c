#pragma once

#include <string>
#include <string_view>

#include "linkgain/base/digest.hpp"
#include "linkgain/base/json_node.hpp"

namespace linkgain {

/// The document, one object, with the digest of all that stands before it as its last member.
/// `before` is what stands between two of its members, `so_far` the digest of what was written in
/// front of it, to which all of this is added.
std::string with_digest(std::string_view document, std::string_view before, Digest& so_far);

/// The digest that `text`, parsed as `document`, has; empty for none. Throws UsageError where that
/// is not the one that with_digest() gives it. Adds the text to `so_far`.
std::string require_digest(std::string_view text, const json::Node& document,
                           std::string_view before, Digest& so_far);

}  // namespace linkgain

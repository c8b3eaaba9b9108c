#pragma once

#include <string>
#include <string_view>

#include "linkgain/base/digest.hpp"
#include "linkgain/base/json_document.hpp"

namespace linkgain {

/// The document, one object, with the digest of all that stands before it as its last member.
/// `before` is what stands between two of its members, `so_far` the digest of what was written in
/// front of it, to which all of this is added.
std::string with_digest(std::string_view document, std::string_view before, Digest& so_far);

/// Whether `text`, parsed as `document`, has a digest. Throws UsageError where that is not the one
/// that with_digest() gives it. Adds the text to `so_far`.
bool require_digest(std::string_view text, const json::In& document, std::string_view before,
                    Digest& so_far);

/// For readers of a record that stop at its samples: the value of its member "results_digest",
/// which stands right before these. `results` is the record without samples.
std::string results_digest(std::string_view results);

/// Whether a record as linkgain writes it, or its beginning up to the samples, has that digest.
/// Throws UsageError where it is of other bytes.
bool require_results_digest(std::string_view text);
/// The same of text that was parsed as `document`, however it stands there.
void require_results_digest(std::string_view text, const json::In& document);

}  // namespace linkgain

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "linkgain/base/json_document.hpp"

namespace linkgain {

/// FNV-1a of 64 bits over bytes in their order. Every step is a bijection, so that one byte that
/// changed is always found; it proves nothing against who means to deceive.
class Digest {
 public:
  void add(std::string_view bytes);
  /// "fnv1a64:0123456789abcdef", of all bytes so far.
  std::string text() const;

 private:
  std::uint64_t state_ = 0xcbf29ce484222325U;
};

/// The document, one object, with the digest of all that stands before it as its last member.
/// `before` is what stands between two of its members, `so_far` the digest of what was written in
/// front of it, to which all of this is added.
std::string with_digest(std::string_view document, std::string_view before, Digest& so_far);

/// Whether `text`, parsed as `document`, has a digest. Throws UsageError where that is not the one
/// that with_digest() gives it. Adds the text to `so_far`.
bool require_digest(std::string_view text, const json::In& document, std::string_view before,
                    Digest& so_far);

}  // namespace linkgain

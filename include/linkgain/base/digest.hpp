#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace linkgain {

/// A digest of 64 bits over bytes in their order. Every step is a bijection, so that one byte that
/// changed is always found; it proves nothing against who means to deceive.
class Digest {
 public:
  /// Adds bytes. The same ones in other pieces give another digest, unless all pieces but the last
  /// are of whole words of 8 bytes.
  void add(std::string_view piece);
  /// Returns "mix64:0123456789abcdef", of all bytes so far.
  std::string text() const;

 private:
  void mix(std::uint64_t word);

  std::uint64_t state_ = 0;
};

}  // namespace linkgain

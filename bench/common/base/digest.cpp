#include "linkgain/base/digest.hpp"

#include <fmt/format.h>

#include <cstring>

namespace linkgain {

/// Mixes a word in: odd factors and shifts are bijections of 64 bits.
void Digest::mix(std::uint64_t word) {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15U;
  state_ = (state_ ^ word) * kFactor;
  state_ ^= state_ >> 32U;
}

void Digest::add(std::string_view piece) {
  std::uint64_t word = 0;
  for (; piece.size() >= sizeof word; piece.remove_prefix(sizeof word)) {
    std::memcpy(&word, piece.data(), sizeof word);
    mix(word);
  }
  for (const char byte : piece) mix(static_cast<unsigned char>(byte));
}

std::string Digest::text() const { return fmt::format("mix64:{:016x}", state_); }

}  // namespace linkgain

#include "linkgain/base/visible_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace linkgain {
namespace {

unsigned byte_at(std::string_view text, std::size_t place) {
  return place < text.size() ? static_cast<unsigned char>(text[place]) : 0U;
}

/// Of a character of `length` bytes.
char32_t code_of(std::string_view character) {
  static constexpr unsigned kFirstBits[] = {0U, 0x7FU, 0x1FU, 0x0FU, 0x07U};
  char32_t code = byte_at(character, 0) & kFirstBits[character.size()];
  for (std::size_t i = 1; i < character.size(); ++i) {
    code = (code << 6U) | (byte_at(character, i) & 0x3FU);
  }
  return code;
}

bool is_control(char32_t code) { return code < 0x20U || (code >= 0x7FU && code <= 0x9FU); }

/// Marks of direction, embeddings, overrides and isolates; separators of lines and paragraphs, at
/// which some programs begin a line.
bool moves_text(char32_t code) {
  return code == 0x061CU || code == 0x2028U || code == 0x2029U || code == 0x200EU ||
         code == 0x200FU || (code >= 0x202AU && code <= 0x202EU) ||
         (code >= 0x2066U && code <= 0x2069U);
}

bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

std::string shown(std::string_view text, std::string_view kept) {
  if (is_plain(text)) return std::string(text);
  std::string result;
  for (std::size_t place = 0; place < text.size();) {
    const std::size_t length = length_of_character(text, place);
    const std::string_view character = text.substr(place, length == 0 ? 1 : length);
    const char32_t code = length == 0 ? byte_at(text, place) : code_of(character);
    place += character.size();
    const bool stays = length == 1 && kept.find(character.front()) != std::string_view::npos;
    if (length == 0 || (is_control(code) && !stays)) {
      result += fmt::format("\\x{:02x}", static_cast<unsigned>(code));
    } else if (moves_text(code)) {
      result += fmt::format("\\u{:04x}", static_cast<unsigned>(code));
    } else {
      result += character;
    }
  }
  return result;
}

}  // namespace

std::size_t length_of_character(std::string_view text, std::size_t place) {
  const unsigned first = byte_at(text, place);
  const unsigned second = byte_at(text, place + 1);
  const auto continues = [&](std::size_t i) { return (byte_at(text, place + i) & 0xC0U) == 0x80U; };
  if (first < 0x80U) return 1;
  if (first >= 0xC2U && first <= 0xDFU) return continues(1) ? 2 : 0;
  if (first >= 0xE0U && first <= 0xEFU) {
    const bool allowed = !(first == 0xE0U && second < 0xA0U) && !(first == 0xEDU && second > 0x9FU);
    return allowed && continues(1) && continues(2) ? 3 : 0;
  }
  if (first >= 0xF0U && first <= 0xF4U) {
    const bool allowed = !(first == 0xF0U && second < 0x90U) && !(first == 0xF4U && second > 0x8FU);
    return allowed && continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

std::string visible(std::string_view text) { return shown(text, {}); }

std::string visible_lines(std::string_view text) { return shown(text, "\n\t"); }

}  // namespace linkgain

#include "linkgain/tables/escaping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <utility>

namespace linkgain {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

using Entity = std::pair<char, std::string_view>;

/// Every character of the table by its text, the others as they are.
template <std::size_t N>
std::string replaced(std::string_view text, const std::array<Entity, N>& table) {
  std::string result;
  for (const char c : valid_utf8(text)) {
    std::string_view by(&c, 1);
    for (const Entity& entity : table) {
      if (entity.first == c) by = entity.second;
    }
    result += by;
  }
  return result;
}

unsigned byte_at(std::string_view text, std::size_t place) {
  return place < text.size() ? static_cast<unsigned char>(text[place]) : 0U;
}

/// Bytes of the character that begins at `place`; 0 where none does. By table 3-7 of the Unicode
/// Standard, which leaves out overlong forms, surrogates and what lies beyond U+10FFFF.
std::size_t length_at(std::string_view text, std::size_t place) {
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

/// Bytes of the escape sequence that begins at `place`, by ECMA-48: ESC [ … to a final byte, ESC ]
/// and the like to BEL or ESC \, else ESC and one character.
std::size_t escape_length(std::string_view text, std::size_t place) {
  constexpr std::string_view kStrings = "]PX^_";
  const char kind = place + 1 < text.size() ? text[place + 1] : '\0';
  std::size_t end = place + 2;
  if (kind == '[') {
    while (end < text.size() && (text[end] < '@' || text[end] > '~')) ++end;
    return end + 1 - place;
  }
  if (kind == '\0' || kStrings.find(kind) == std::string_view::npos) return 2;
  while (end < text.size() && text[end] != '\a' && text[end] != '\033') ++end;
  const bool terminated = end + 1 < text.size() && text[end] == '\033';
  return end + (terminated ? 2 : 1) - place;
}

}  // namespace

std::string plain_text(std::string_view text) {
  constexpr std::string_view kBlanks = "\t\n\r";
  constexpr char kDelete = '\x7f';
  std::string result;
  const std::string valid = valid_utf8(text);
  for (std::size_t place = 0; place < valid.size(); ++place) {
    const char c = valid[place];
    // U+0080 to U+009F, which some terminals obey.
    const bool high = c == '\xc2' && static_cast<unsigned char>(valid[place + 1]) < 0xA0U;
    if (c == '\033') {
      place += escape_length(valid, place) - 1;
    } else if (high) {
      ++place;
    } else if (kBlanks.find(c) != std::string_view::npos) {
      result += ' ';
    } else if (static_cast<unsigned char>(c) >= 0x20U && c != kDelete) {
      result += c;
    }
  }
  return result;
}

std::string valid_utf8(std::string_view text) {
  std::string result;
  for (std::size_t place = 0; place < text.size();) {
    const std::size_t length = length_at(text, place);
    result += length == 0 ? kReplacement : text.substr(place, length);
    place += length == 0 ? 1 : length;
  }
  return result;
}

std::string xml_escaped(std::string_view text) {
  static constexpr std::array<Entity, 5> kEntities{
      {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}}};
  std::string result;
  for (const char c : replaced(text, kEntities)) {
    const bool control = static_cast<unsigned char>(c) < 0x20U && c != '\n' && c != '\t';
    if (control) {
      result += kReplacement;
    } else {
      result += c;
    }
  }
  return result;
}

std::string prometheus_escaped(std::string_view text) {
  static constexpr std::array<Entity, 3> kEscapes{{{'\\', "\\\\"}, {'"', "\\\""}, {'\n', "\\n"}}};
  return replaced(text, kEscapes);
}

std::string csv_field(std::string_view text) {
  const std::string valid = valid_utf8(text);
  if (valid.find_first_of(",\"\r\n") == std::string::npos) {
    return valid;
  }
  std::string quoted = "\"";
  for (const char c : valid) {
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  }
  return quoted + "\"";
}

std::string csv_field(std::optional<double> value) {
  return value.has_value() ? fmt::format("{}", *value) : std::string{};
}

std::string shell_quoted(std::string_view text) {
  constexpr std::string_view kHarmless = "-_./:=,+@%";
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           kHarmless.find(c) != std::string_view::npos;
  });
  if (plain) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

}  // namespace linkgain

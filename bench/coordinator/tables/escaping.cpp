#include "linkgain/tables/escaping.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "linkgain/base/text.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

using Entity = std::pair<char, std::string_view>;

/// Puts its text in the place of every character of the table.
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

/// Drops the first of `characters` that it begins with; absent where it begins with none.
template <std::size_t N>
std::optional<std::string_view> without_first(std::string_view text,
                                              const std::array<std::string_view, N>& characters) {
  for (const std::string_view character : characters) {
    if (text.starts_with(character)) return text.substr(character.size());
  }
  return std::nullopt;
}

/// Tells what a spreadsheet would compute instead of showing it: some take the full-width forms of
/// CJK fonts for signs, too, and drop blanks and quotes before them. A number is none.
bool is_formula(const std::string& text) {
  constexpr std::array<std::string_view, 5> kDropped{" ", "\u00a0", "\u3000", "'", "\""};
  constexpr std::array<std::string_view, 8> kSigns{"=",      "+",      "-",      "@",
                                                   "\uff1d", "\uff0b", "\uff0d", "\uff20"};
  std::string_view rest = text;
  while (const auto dropped = without_first(rest, kDropped)) rest = *dropped;
  if (!without_first(rest, kSigns)) return false;
  char* end = nullptr;
  std::strtod(text.c_str(), &end);
  return end == text.c_str() || *end != '\0';
}

/// Counts bytes of the escape sequence that begins at `place`, by ECMA-48: ESC [ … to a final byte,
/// ESC ] and the like to BEL or ESC \, else ESC and one character.
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

std::string without_escapes(std::string_view text) {
  std::string result;
  for (std::size_t place = 0; place < text.size();) {
    const std::size_t escape = std::min(text.find('\033', place), text.size());
    result += text.substr(place, escape - place);
    place = escape < text.size() ? escape + escape_length(text, escape) : escape;
  }
  return result;
}

std::string valid_utf8(std::string_view text) {
  std::string result;
  for (std::size_t place = 0; place < text.size();) {
    const std::size_t length = length_of_character(text, place);
    result += length == 0 ? kReplacement : text.substr(place, length);
    place += length == 0 ? 1 : length;
  }
  return result;
}

std::string xml_escaped(std::string_view text) {
  static constexpr std::array<Entity, 5> kEntities{
      {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&apos;"}}};
  // U+FFFE and U+FFFF.
  static constexpr std::array<std::string_view, 2> kNoCharacters{"\xEF\xBF\xBE", "\xEF\xBF\xBF"};
  const std::string marked = replaced(text, kEntities);
  std::string result;
  for (std::size_t place = 0; place < marked.size();) {
    const std::string_view character =
        std::string_view(marked).substr(place, length_of_character(marked, place));
    place += character.size();
    const char first = character.front();
    const bool control =
        static_cast<unsigned char>(first) < 0x20U && first != '\n' && first != '\t';
    const bool none = std::ranges::find(kNoCharacters, character) != kNoCharacters.end();
    result += control || none ? kReplacement : character;
  }
  return result;
}

std::string prometheus_escaped(std::string_view text) {
  static constexpr std::array<Entity, 3> kEscapes{{{'\\', "\\\\"}, {'"', "\\\""}, {'\n', "\\n"}}};
  return replaced(visible_lines(valid_utf8(text)), kEscapes);
}

std::string csv_field(std::string_view text) {
  std::string shown = visible(valid_utf8(one_line(text)));
  if (is_formula(shown)) shown.insert(0, "'");
  if (shown.find_first_of(",\"") == std::string::npos) {
    return shown;
  }
  std::string quoted = "\"";
  for (const char c : shown) {
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  }
  return quoted + "\"";
}

std::string csv_field(std::optional<double> value) {
  return value.has_value() ? fmt::format("{}", *value) : std::string{};
}

std::string shell_quoted(std::string_view text) {
  constexpr std::string_view kHarmless = "-_./:=,+@%";
  const bool plain = !text.empty() && !is_command(text) && std::ranges::all_of(text, [&](char c) {
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

std::string pasted_word(std::string_view text) {
  std::string word;
  std::string plain;  // what needs no printf, since the last that did
  std::string octal;
  const auto finish = [&] {
    if (!plain.empty()) word += shell_quoted(std::exchange(plain, {}));
    if (!octal.empty()) word += fmt::format("\"$(printf '{}')\"", std::exchange(octal, {}));
  };
  for (std::size_t place = 0; place < text.size();) {
    const std::string_view character =
        text.substr(place, std::max<std::size_t>(1, length_of_character(text, place)));
    place += character.size();
    if (character == "\n" || visible(character) == character) {
      if (!octal.empty()) finish();
      plain += character;
      // A line that begins with a quote is no command to what runs jobs of CI.
      if (character == "\n" && is_command(text.substr(place))) finish();
      continue;
    }
    if (!plain.empty()) finish();
    for (const char c : character) {
      octal += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    }
  }
  finish();
  return word.empty() ? shell_quoted(text) : word;
}

std::string pasted_command(const std::vector<std::string>& words) {
  std::vector<std::string> pasted;
  std::ranges::transform(words, std::back_inserter(pasted), pasted_word);
  return fmt::format("{}", fmt::join(pasted, " "));
}

std::string shown_word(std::string_view text) {
  if (visible(text) == text) return shell_quoted(text);
  std::string quoted = "$'";
  for (std::size_t place = 0; place < text.size();) {
    const std::string_view character =
        text.substr(place, std::max<std::size_t>(1, length_of_character(text, place)));
    place += character.size();
    if (character == "\n") {
      quoted += "\\n";
    } else if (character == "'" || character == "\\") {
      quoted += fmt::format("\\{}", character);
    } else if (visible(character) == character) {
      quoted += character;
    } else {
      // By bytes, which no locale changes.
      for (const char c : character) {
        quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
      }
    }
  }
  return quoted + "'";
}

std::string shown_command(const std::vector<std::string>& words) {
  std::vector<std::string> shown;
  std::ranges::transform(words, std::back_inserter(shown), shown_word);
  return fmt::format("{}", fmt::join(shown, " "));
}

std::string shown_program(const std::vector<std::string>& command, const std::string& server) {
  const std::string shown = shown_command(command);
  return server.empty() ? shown : fmt::format("{} & {}", server, shown);
}

}  // namespace linkgain

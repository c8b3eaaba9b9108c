#include "linkgain/base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace linkgain {
namespace {

/// Counts edits: Damerau-Levenshtein distance in its optimal string alignment form: insertions,
/// deletions, substitutions and swaps of neighbours each count one.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::vector<std::size_t> row(b.size() + 1);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last = std::move(last);
    last = std::move(row);
  }
  return last[b.size()];
}

/// Writes a name as it is compared with others: without case and what parts words, and with F for
/// float and fp before digits, so that AllReduce is all_reduce, and FP16 float16.
std::string spelling_of(std::string_view name) {
  std::string spelling = upper(name);
  std::erase_if(spelling, [](unsigned char c) { return c < 0x80 && std::isalnum(c) == 0; });
  for (const std::string_view other : {"FLOAT", "FP"}) {
    const std::size_t place = spelling.find(other);
    const std::size_t end = place + other.size();
    const bool has_digits = place != std::string::npos && end < spelling.size() &&
                            std::isdigit(static_cast<unsigned char>(spelling[end])) != 0;
    if (has_digits) spelling.replace(place, other.size(), "F");
  }
  return spelling;
}

unsigned byte_at(std::string_view text, std::size_t place) {
  return place < text.size() ? static_cast<unsigned char>(text[place]) : 0U;
}

/// Returns the code point of a character.
char32_t code_of(std::string_view character) {
  static constexpr unsigned kFirstBits[] = {0U, 0x7FU, 0x1FU, 0x0FU, 0x07U};
  char32_t code = byte_at(character, 0) & kFirstBits[character.size()];
  for (std::size_t i = 1; i < character.size(); ++i) {
    code = (code << 6U) | (byte_at(character, i) & 0x3FU);
  }
  return code;
}

bool is_control(char32_t code) { return code < 0x20U || (code >= 0x7FU && code <= 0x9FU); }

/// Finds marks of direction, embeddings, overrides and isolates; separators of lines and
/// paragraphs, at which some programs begin a line.
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

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  constexpr std::size_t kFarthest = 2;
  std::string_view nearest;
  const std::string spelling = spelling_of(name);
  std::size_t smallest = std::min(kFarthest, spelling.size() / 2) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(spelling, spelling_of(candidate));
    if (distance < smallest) {
      smallest = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates) {
  const std::string_view nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : fmt::format(": did you mean {}?", nearest);
}

std::string unknown_name(std::string_view what, std::string_view name,
                         std::span<const std::string_view> candidates) {
  if (candidates.empty()) return fmt::format("unknown {} '{}'", what, name);
  std::string all;
  for (const std::string_view candidate : candidates) {
    if (!all.empty()) all += ", ";
    all += candidate;
  }
  return fmt::format("unknown {} '{}'{} ({})", what, name, did_you_mean(name, candidates), all);
}

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) {
    return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  });
  return result;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  bool in_color = false;
  for (const char c : text) {
    in_color = in_color || c == '\033';
    if (!in_color && (static_cast<unsigned char>(c) & 0xc0) != 0x80) ++width;
    if (c == 'm') in_color = false;
  }
  return width;
}

bool is_command(std::string_view line) {
  // White space of Unicode, which is passed over.
  static constexpr std::string_view kBlanks[] = {
      " ",      "\t",     "\n",     "\v",     "\f",     "\r",     "\u0085", "\u00a0", "\u1680",
      "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006", "\u2007", "\u2008",
      "\u2009", "\u200a", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};
  const auto blank_at_start = [&] {
    return std::ranges::find_if(kBlanks,
                                [&](std::string_view blank) { return line.starts_with(blank); });
  };
  for (auto blank = blank_at_start(); blank != std::end(kBlanks); blank = blank_at_start()) {
    line.remove_prefix(blank->size());
  }
  return line.starts_with("::");
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    const bool stays =
        !lines.empty() &&
        (is_command(word) || display_width(lines.back()) + 1 + display_width(word) <= width);
    if (stays) {
      lines.back() += fmt::format(" {}", word);
    } else if (!word.empty()) {
      lines.emplace_back(word);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string hanging(std::string_view lead, std::string_view text, std::size_t width) {
  const std::size_t indent = display_width(lead);
  std::string all(lead);
  bool begun = true;
  for (const std::string& line : wrapped(text, width - indent)) {
    if (!begun) all += "\n" + std::string(indent, ' ');
    all += line;
    begun = false;
  }
  return all + "\n";
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  if (text.empty()) return parts;
  std::size_t begin = 0;
  for (std::size_t end = text.find(separator); end != std::string_view::npos;
       end = text.find(separator, begin)) {
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.emplace_back(text.substr(begin));
  return parts;
}

std::string listed(std::span<const std::string_view> names, std::string_view last) {
  if (names.size() < 2) return std::string(names.empty() ? std::string_view{} : names.front());
  return fmt::format("{} {} {}", fmt::join(names.first(names.size() - 1), ", "), last,
                     names.back());
}

std::string first_named(std::span<const std::string> names, std::size_t most,
                        std::string_view separator) {
  const std::size_t rest = names.size() > most ? names.size() - most : 0;
  const std::span<const std::string> first = names.first(names.size() - rest);
  return fmt::format("{}{}", fmt::join(first, separator),
                     rest > 0 ? fmt::format(" and {} more", rest) : "");
}

std::string go_with(std::span<const std::string_view> options) {
  return fmt::format("{} {} with", listed(options), options.size() > 1 ? "go" : "goes");
}

// Matches a star with nothing first; where what follows does not fit, the last star takes one
// character more. Going back to earlier stars finds nothing that the last one cannot.
bool matches_glob(std::string_view pattern, std::string_view text) {
  std::size_t at = 0;
  std::size_t in_text = 0;
  std::size_t after_star = std::string_view::npos;
  std::size_t taken = 0;
  while (in_text < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      after_star = ++at;
      taken = in_text;
    } else if (at < pattern.size() && (pattern[at] == '?' || pattern[at] == text[in_text])) {
      ++at;
      ++in_text;
    } else if (after_star != std::string_view::npos) {
      at = after_star;
      in_text = ++taken;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

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

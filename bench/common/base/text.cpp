#include "linkgain/base/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace linkgain {
namespace {

/// Damerau-Levenshtein distance in its optimal string alignment form: insertions, deletions,
/// substitutions and swaps of neighbours each count one.
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

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  constexpr std::size_t kFarthest = 2;
  std::string_view nearest;
  std::size_t smallest = std::min(kFarthest, name.size() / 2) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
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

}  // namespace linkgain

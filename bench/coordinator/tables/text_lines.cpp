#include "linkgain/tables/text_lines.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace linkgain {

std::size_t terminal_columns(int descriptor) {
  winsize size{};
  if (::isatty(descriptor) != 1 || ::ioctl(descriptor, TIOCGWINSZ, &size) != 0) {
    return kAnyColumns;
  }
  return size.ws_col > 0 ? size.ws_col : kAnyColumns;
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

std::string one_line(std::string_view text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return result;
}

std::string first_columns(std::string_view text, std::size_t columns, std::string_view end) {
  if (display_width(text) <= columns) return std::string(text);
  const std::size_t room = columns - std::min(columns, display_width(end));
  std::size_t bytes = 0;
  while (display_width(text.substr(0, bytes + 1)) <= room) ++bytes;
  return std::string(text.substr(0, bytes)) + std::string(end);
}

std::string in_ascii(std::string text) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 18> kLikes{
      {{"–", "-"},
       {"−", "-"},
       {"±", "+-"},
       {"×", "x"},
       {"→", ">"},
       {"…", "~"},
       {"°", " "},
       {"µ", "u"},
       {"▁", "_"},
       {"▂", "."},
       {"▃", ":"},
       {"▄", "-"},
       {"▅", "="},
       {"▆", "+"},
       {"▇", "*"},
       {"█", "#"},
       {"━", "#"},
       {"─", "."}}};
  for (const auto& [from, to] : kLikes) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
      text.replace(at, from.size(), to);
      at += to.size();
    }
  }
  // One mark for each character that is left.
  std::erase_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; });
  std::ranges::replace_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0x80) != 0; }, '?');
  return text;
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    const bool fits =
        !lines.empty() && display_width(lines.back()) + 1 + display_width(word) <= width;
    if (fits) {
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

}  // namespace linkgain

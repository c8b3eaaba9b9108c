#include "linkgain/tables/text_lines.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "linkgain/base/text.hpp"

namespace linkgain {

std::size_t terminal_columns(int descriptor) {
  winsize size{};
  if (::isatty(descriptor) != 1 || ::ioctl(descriptor, TIOCGWINSZ, &size) != 0) {
    return kAnyColumns;
  }
  return size.ws_col > 0 ? size.ws_col : kAnyColumns;
}

namespace {

std::string with_blanks(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line = with_blanks(text);
  if (is_command(line)) line.insert(0, "'");
  return line;
}

std::string shown_line(std::string_view text) { return visible(with_blanks(text)); }

std::string shown_lines(std::string_view lines) {
  std::string text;
  for (const std::string& line : split(visible_lines(lines), '\n')) {
    text += (text.empty() ? "" : "\n") + (is_command(line) ? "'" + line : line);
  }
  return text;
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

}  // namespace linkgain

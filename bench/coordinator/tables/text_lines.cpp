#include "linkgain/tables/text_lines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace linkgain {
namespace {

std::string with_blanks(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

/// Makes one line in which nothing of others acts on the terminal.
std::string shown(std::string_view text, const ScreenStyle& style) {
  const std::string line = visible(one_line(text));
  return style.utf8 ? line : in_ascii(line);
}

}  // namespace

std::size_t terminal_columns(int descriptor) {
  winsize size{};
  if (::isatty(descriptor) != 1 || ::ioctl(descriptor, TIOCGWINSZ, &size) != 0) {
    return kAnyColumns;
  }
  return size.ws_col > 0 ? size.ws_col : kAnyColumns;
}

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
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 19> kLikes{
      {{"–", "-"},
       {"−", "-"},
       {"±", "+-"},
       {"×", "x"},
       {"≤", "<="},
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

std::string painted(const std::string& text, Tone tone, const ScreenStyle& style) {
  constexpr std::array<std::string_view, 4> kColors{"", "\033[32m", "\033[33m", "\033[31m"};
  if (!style.color || tone == Tone::plain) return text;
  return fmt::format("{}{}\033[0m", kColors[static_cast<std::size_t>(tone)], text);
}

std::string cut(const std::string& text, std::size_t columns, const ScreenStyle& style) {
  return first_columns(shown(text, style), columns, style.utf8 ? "…" : "~");
}

std::string in_lines(std::string_view text, const ScreenStyle& style) {
  constexpr char kBound = '\x1f';
  std::string bound = shown(text, style);
  for (std::size_t i = 1; i + 1 < bound.size(); ++i) {
    if (bound[i] == ' ' && std::isdigit(static_cast<unsigned char>(bound[i - 1])) != 0) {
      bound[i] = kBound;
    }
  }
  std::string lines = fmt::format("{}\n", fmt::join(wrapped(bound, style.columns), "\n"));
  std::ranges::replace(lines, kBound, ' ');
  return lines;
}

std::string in_lines(std::string_view text, std::string_view alarm, const ScreenStyle& style) {
  const std::string lines = in_lines(text, style);
  if (alarm.empty()) return lines;
  return painted(lines.substr(0, alarm.size()), Tone::bad, style) + lines.substr(alarm.size());
}

std::string with_end(const std::string& text, const std::string& end, const ScreenStyle& style) {
  const std::size_t both = display_width(text) + 2 + display_width(end);
  if (both > style.columns) {
    return cut(text, style.columns, style) + "\n" + cut(end, style.columns, style) + "\n";
  }
  return visible(text) +
         std::string(std::min(style.columns, std::max(kUsualColumns, both)) - both + 2, ' ') + end +
         "\n";
}

std::string fenced(std::string lines) {
  std::ranges::replace(lines, '`', '\'');
  return "```text\n" + lines + "```\n";
}

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

}  // namespace linkgain

#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "linkgain/base/text.hpp"

namespace linkgain {

/// The columns of what is no terminal: tables leave nothing out.
inline constexpr std::size_t kAnyColumns = std::string_view::npos;

/// Counts columns of the terminal that standard output, or another descriptor, goes to; kAnyColumns
/// where it is none.
std::size_t terminal_columns(int descriptor = 1);

/// Makes text that stays within one line, line breaks become spaces, and may begin one: a quote
/// stands before a command.
std::string one_line(std::string_view text);

/// Makes one line of text of others, in which nothing acts on a terminal.
std::string shown_line(std::string_view text);

/// Makes such lines, none of which begins with a command.
std::string shown_lines(std::string_view lines);

/// Gives as much of the UTF-8 text as `columns` hold; what is cut ends in `end`.
std::string first_columns(std::string_view text, std::size_t columns, std::string_view end = {});

/// Replaces what this project's texts write beyond ASCII, as far as it has a like; "?" for the
/// rest.
std::string in_ascii(std::string text);

/// The columns of a terminal that does not say how many it has.
inline constexpr std::size_t kUsualColumns = 80;

/// What a screen can show.
struct ScreenStyle {
  std::size_t columns = kUsualColumns;  ///< 40 at least
  bool utf8 = true;                     ///< else all is ASCII
  bool color = false;
  bool is_file = false;  ///< no terminal, whose lines scroll away: all is said, and whole
};

/// The lines of the smallest terminal there is.
inline constexpr std::size_t kMostScreenLines = 24;

/// What text says of what was measured. Renderers give it a colour, which never says it alone.
enum class Tone { plain, good, doubtful, bad };

std::string painted(const std::string& text, Tone tone, const ScreenStyle& style);

/// Makes one line of the text, of at most so many columns.
std::string cut(const std::string& text, std::size_t columns, const ScreenStyle& style);

/// Makes lines, each ended by a newline, that part no number from what follows it.
std::string in_lines(std::string_view text, const ScreenStyle& style);

/// Does the same to a text that begins with `alarm`, what went wrong, which is bad. It may be
/// empty.
std::string in_lines(std::string_view text, std::string_view alarm, const ScreenStyle& style);

/// Puts `end` at the right edge of at most 80 columns, or on a second line where both do not fit.
std::string with_end(const std::string& text, const std::string& end, const ScreenStyle& style);

/// What can be pasted into a page of Markdown and reads the same there as in plain text.
inline constexpr std::size_t kMostCardLines = 12;
inline constexpr std::size_t kCardColumns = 100;

/// Makes a block of code of lines, in Markdown. Backticks become apostrophes.
std::string fenced(std::string lines);

std::size_t line_count(const std::string& text);

}  // namespace linkgain

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace linkgain {

/// What fits on a line of most terminals.
inline constexpr std::size_t kTerminalColumns = 120;

/// Of what is no terminal: tables leave nothing out.
inline constexpr std::size_t kAnyColumns = std::string_view::npos;

/// Columns of the terminal that standard output, or another descriptor, goes to; kAnyColumns where
/// it is none.
std::size_t terminal_columns(int descriptor = 1);

/// Characters that the UTF-8 text takes on a terminal; colours take none.
std::size_t display_width(std::string_view text);

/// Text that stays within one line: line breaks become spaces.
std::string one_line(std::string_view text);

/// As much of the UTF-8 text as `columns` hold; what is cut ends in `end`.
std::string first_columns(std::string_view text, std::size_t columns, std::string_view end = {});

/// What this project's texts write beyond ASCII, as far as it has a like; "?" for the rest.
std::string in_ascii(std::string text);

/// Lines of at most `width` characters, broken at blanks; a longer word has a line of its own.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

/// `lead` and text in lines of at most `width`; all lines but the first begin with as many blanks
/// as `lead` is wide. Ended by a newline.
std::string hanging(std::string_view lead, std::string_view text,
                    std::size_t width = kTerminalColumns);

}  // namespace linkgain

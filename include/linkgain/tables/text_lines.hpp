#pragma once

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

}  // namespace linkgain

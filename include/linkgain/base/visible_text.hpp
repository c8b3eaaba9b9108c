#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Text of others, as a file or a program gave it, in which nothing acts on a terminal.
namespace linkgain {

/// Bytes of the UTF-8 character that begins at `place`; 0 where none does. By table 3-7 of the
/// Unicode Standard, which leaves out overlong forms, surrogates and what lies beyond U+10FFFF.
std::size_t length_of_character(std::string_view text, std::size_t place);

/// Control characters (C0, C1, DEL), line breaks included, those that change the direction of text
/// or separate its lines, and bytes that are no UTF-8 as "\x1b" and "\u202e". All else stays as it
/// is.
std::string visible(std::string_view text);

/// The same but for line breaks and tabs, which stay.
std::string visible_lines(std::string_view text);

}  // namespace linkgain

#pragma once

#include <cstddef>
#include <string>

/// What the terminal behind a descriptor can show.
namespace linkgain {

/// Whether it is a terminal on which a line can be written anew: not one of TERM=dumb.
bool is_terminal(int descriptor);

/// Columns, as the terminal says now; else those of COLUMNS, else 80.
std::size_t columns_of(int descriptor);

/// Whether the locale's encoding is UTF-8: LC_ALL, LC_CTYPE and LANG, the first that is set.
bool has_utf8();

/// The text, in ASCII where has_utf8() is not.
std::string in_locale(const std::string& text);

/// Writes in_locale() text to standard output; what a terminal has too few
/// lines for goes through $PAGER (default: less).
void show(const std::string& text);

}  // namespace linkgain

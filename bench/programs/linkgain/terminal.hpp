#pragma once

#include <cstddef>
#include <string>

/// What the terminal behind a descriptor can show.
namespace linkgain {

/// Returns whether it is a terminal on which a line can be written anew: not one of TERM=dumb.
bool is_terminal(int descriptor);

/// Returns the columns, as the terminal says now; else those of COLUMNS, else 80.
std::size_t columns_of(int descriptor);

/// Returns whether the locale's encoding is UTF-8: LC_ALL, LC_CTYPE and LANG, the first that is
/// set.
bool has_utf8();

/// Returns the text, in ASCII where has_utf8() is not.
std::string in_locale(const std::string& text);

/// Returns Markdown for standard output: in_locale(), in a file always UTF-8.
std::string document_text(const std::string& markdown);

/// Writes in_locale() text to standard output. Unless `pager` is false, or standard input or output
/// is no terminal, what the terminal has too few lines for goes through $PAGER (default: less), and
/// not where that is missing or fails.
void show(const std::string& text, bool pager);

}  // namespace linkgain

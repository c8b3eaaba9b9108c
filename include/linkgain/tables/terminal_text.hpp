#pragma once

#include <cstddef>
#include <string>

namespace linkgain {

/// A report's Markdown as a terminal of so many columns shows it best: tables lined up, each row
/// within one line; all else broken at blanks; without marks of code. A table too wide loses the
/// columns "Less time", "NVLink %" and "95 % CI", in this order, then those from the right on but
/// "Speed-up"; in the end its first column is cut.
std::string terminal_text(const std::string& markdown, std::size_t columns);

}  // namespace linkgain

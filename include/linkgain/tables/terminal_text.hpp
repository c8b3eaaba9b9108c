#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace linkgain {

/// A report's Markdown as a terminal of so many columns shows it best: tables lined up, each row
/// within one line; all else broken at blanks; without marks of code. A table too wide loses the
/// columns "Less time", "NVLink %" and "95 % CI", in this order, then those from the right on but
/// "Speed-up"; in the end its first column is cut.
std::string terminal_text(const std::string& markdown, std::size_t columns);

/// Cells of a row of a Markdown table: "| a | b\|c |" as "a" and "b|c".
std::vector<std::string> markdown_cells(std::string_view line);

/// Text without what Markdown marks code and strong words with.
std::string without_marks(std::string_view text);

}  // namespace linkgain

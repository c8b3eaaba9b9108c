#pragma once

#include <cstddef>
#include <string>

#include "linkgain/report/run_summary.hpp"
#include "linkgain/tables/screen_text.hpp"

namespace linkgain {

/// A run on one screen of at most 24 lines, none wider than the columns but perhaps `footer`'s: the
/// machine; NVLink, Y and N, and the times of the headline case; a row for each operation that
/// stands for a question; bus bandwidth over size; the path; three warnings at most; `footer`; and,
/// last, what the run says in a sentence. A table too wide loses the interval, then the other
/// variant, then the first one.
std::string screen(const RunSummary& summary, const std::string& footer, const ScreenStyle& style);

/// The record's warnings, `most` of them, a line each: a wrong path first; the last line says how
/// many more there are.
std::string warning_lines(const Record& record, std::size_t most, const ScreenStyle& style);

/// That sentence, and the table of operations, in Markdown.
std::string answer_in_markdown(const RunSummary& summary);

}  // namespace linkgain

#pragma once

#include <cstddef>
#include <string>

#include "linkgain/report/run_summary.hpp"

namespace linkgain {

/// What a screen can show.
struct ScreenStyle {
  std::size_t columns = 80;  ///< 40 at least
  bool utf8 = true;          ///< else all is ASCII
  bool color = false;
};

/// A run on one screen of at most 24 lines, none wider than the columns but perhaps `footer`'s: the
/// machine; NVLink, Y and N, and the times of the headline case; a row for each operation that
/// stands for a question; bus bandwidth over size; the path; three warnings at most; `footer`; and,
/// last, what the run says in a sentence. A table too wide loses the interval, then the other
/// variant, then the first one.
std::string screen(const RunSummary& summary, const std::string& footer, const ScreenStyle& style);

/// That sentence, and the table of operations, in Markdown.
std::string answer_in_markdown(const RunSummary& summary);

}  // namespace linkgain

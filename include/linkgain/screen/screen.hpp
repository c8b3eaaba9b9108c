#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "linkgain/summary/run_summary.hpp"
#include "linkgain/tables/screen_text.hpp"

namespace linkgain {

/// A run on one screen of at most 24 lines, none wider than the columns but perhaps `footer`'s: the
/// machine; NVLink, Y and N, and the times of the headline case; a row for each operation that
/// stands for a question; bus bandwidth over size; the path; three warnings at most; `footer`; and,
/// last, what the run says in a sentence. A table too wide loses the interval, then the other
/// variant, then the first one. Of a run of one variant its times and bandwidths.
std::string screen(const RunSummary& summary, const std::string& footer, const ScreenStyle& style);

/// The record's warnings, `most` of them, a line each: a wrong path first; the last line says how
/// many more there are.
std::string warning_lines(const Record& record, std::size_t most, const ScreenStyle& style);

/// The same to be pasted into an issue or a forum, in a block of at most kMostCardLines lines: the
/// machine and its software; NVLink, Y and N, times, bandwidths, paths and NVLink's bytes; the
/// answer; warnings as far as there is room; the command. It has no host names but those of the
/// command.
std::string card(const RunSummary& summary);

/// "driver 580.95.05, CUDA 12.8, linkgain 0.1.0, 12 runs": what a card says below the machine;
/// `runs` may be empty.
std::string card_circumstances(const Record& record, std::string_view runs);

/// Warnings of a card whose other lines are `used`, its fences counted.
std::string card_warnings(const Record& record, std::size_t used);

}  // namespace linkgain

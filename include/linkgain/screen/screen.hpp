#pragma once

#include <cstddef>
#include <string>

#include "linkgain/summary/run_summary.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {

/// Shows a run on one screen of at most 24 lines, none wider than the columns but perhaps
/// `footer`'s: the machine; NVLink, Y and N, and the times of the main case; a row for each
/// operation that stands for a question; bus bandwidth over size; the path; three warnings at most;
/// `footer`; and, last, what the run says in a sentence. A table too wide loses the interval, then
/// the other variant, then the first one. Of a run of one variant its times and bandwidths; of a
/// program its command and a row for each metric and variant. A file has all warnings, whole. The
/// first `told` warnings of the record stand on this terminal already and are left out.
std::string screen(const RunSummary& summary, const std::string& footer, const ScreenStyle& style,
                   std::size_t told = 0);

/// Says the same to be pasted into an issue or a forum, in a block of at most kMostCardLines lines,
/// or more where the answer is longer: the machine and its software; NVLink, Y and N, times,
/// bandwidths, paths and NVLink's bytes, where there is no room the path alone; the whole answer;
/// one warning, and more as far as there is room; the command. It has no host names but those of
/// the command.
std::string card(const RunSummary& summary);

}  // namespace linkgain

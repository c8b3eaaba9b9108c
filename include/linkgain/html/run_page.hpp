#pragma once

#include <span>
#include <string>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/summary/run_summary.hpp"

namespace linkgain {

/// Makes report.html: the answer, its path, what is wrong, at which size it pays and what it rests
/// on; the machine; curves, pairs, training and health as pictures with the tables behind them;
/// settings and the command that repeats it. The record is none of `linkgain exec`.
std::string run_page(const RunSummary& summary);

/// Makes the answer one SVG picture that stands alone, on a light or a dark ground as the reader
/// has it: the sentence, what was measured on, and the pictures that the page shows first.
std::string run_svg(const RunSummary& summary);

/// Makes the same page of several records, two at least, in common pictures.
std::string runs_page(std::span<const NamedRecord> records);

}  // namespace linkgain

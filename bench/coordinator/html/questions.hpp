#pragma once

#include <string>

#include "linkgain/summary/run_summary.hpp"

namespace linkgain {

/// The five questions that a reader has, each with its answer, as HTML: how much faster, by which
/// path, whether anything is wrong, at which size it pays, and whether it can be trusted.
std::string questions(const RunSummary& summary);

}  // namespace linkgain

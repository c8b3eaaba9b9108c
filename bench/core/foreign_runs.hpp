#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "linkgain/core/run_figures.hpp"

/// Documents of other programs, already known to be such.
namespace linkgain {

/// Google Benchmark's: one case for each benchmark that has a time; repetitions are samples of one
/// launch, of which the median counts. Where only aggregates were written, theirs does. Throws
/// UsageError or nlohmann's exceptions where members are missing.
RunFigures read_google_benchmark(const nlohmann::json& document, const std::string& name);

/// nccl-tests' (-J): two cases for each row, in place and out of place; which operation it was, the
/// program's name among the arguments tells. Throws likewise.
RunFigures read_nccl_tests(const nlohmann::json& document, const std::string& name);

/// The built-in variant that these variables of NCCL stand for: "host" where they forbid P2P, else
/// "p2p".
std::string variant_of(const Environment& environment);

/// The settings of a run of this one variant.
Settings settings_of(const Environment& environment);

}  // namespace linkgain

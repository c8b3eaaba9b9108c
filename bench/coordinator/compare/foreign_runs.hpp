#pragma once

#include <string>

#include "linkgain/base/json.hpp"
#include "linkgain/compare/run_figures.hpp"

/// Documents of other programs as runs of one launch.
namespace linkgain {

/// What linkgain-bench writes with --benchmark_out; `name` is how the run is called. Throws
/// UsageError for what no such document holds, and nlohmann::json's exceptions where members are
/// absent or of other types.
RunFigures read_google_benchmark(const nlohmann::json& document, const std::string& name);

/// The same of nccl-tests' -J.
RunFigures read_nccl_tests(const nlohmann::json& document, const std::string& name);

}  // namespace linkgain

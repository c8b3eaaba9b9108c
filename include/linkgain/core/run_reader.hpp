#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "linkgain/core/run_figures.hpp"

namespace linkgain {

/// Reads what can be compared: a record, a journal or a run's directory as read_record() does; a
/// document of Google Benchmark (`--benchmark_out`, of any program); a file that nccl-tests' -J
/// wrote. Which it is, its members tell. Throws UsageError.
RunFigures read_run(const std::filesystem::path& path);

/// The same of a file's text; `name` is how the run is called.
RunFigures parse_run(std::string_view text, const std::string& name);

}  // namespace linkgain

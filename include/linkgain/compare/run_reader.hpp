#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "linkgain/compare/run_figures.hpp"

namespace linkgain {

/// Reads what can be compared: a record, a journal or a run's directory as read_record() does; a
/// document of linkgain-bench (`--benchmark_out`); a file that nccl-tests' -J
/// wrote. Which it is, its members tell. Several documents of one other program are one run, each a
/// launch of it: a directory that holds no record but .json files, or paths with commas between
/// them (a path that exists is itself, whatever commas it has). Throws UsageError, also where
/// machine or settings of two such files differ, one is given twice or is a record.
RunFigures read_run(const std::filesystem::path& path);

/// The same of a file's text; `name` is how the run is called.
RunFigures parse_run(std::string_view text, const std::string& name);

}  // namespace linkgain

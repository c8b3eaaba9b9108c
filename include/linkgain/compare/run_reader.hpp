#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "linkgain/compare/run_figures.hpp"

namespace linkgain {

/// Reads what can be compared: a record, a journal or a run's directory as read_record() does, or a
/// file that nccl-tests' -J wrote, which is a run of one launch. Which it is, its members tell.
/// Throws UsageError for all else.
RunFigures read_run(const std::filesystem::path& path);

/// Reads the text of such a file; `name` is how the run is called.
RunFigures parse_run(std::string_view text, const std::string& name);

}  // namespace linkgain

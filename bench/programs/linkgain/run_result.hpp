#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "linkgain/record/record.hpp"
#include "linkgain/report/screen.hpp"
#include "linkgain/run/run_directory.hpp"

/// What `run`, `exec` and `report` print and keep of a record, whichever of the first two measured
/// it.
namespace linkgain {

std::string markdown_of(const Record& record);

/// The last screen, which ends with `footer`.
std::string screen_of(const Record& record, const std::string& footer, const ScreenStyle& style);

/// What a terminal has below it.
std::string details_of(const Record& record);

/// The lines of a run's log are appended to it; null where it cannot be written.
struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using LogFile = std::unique_ptr<std::FILE, CloseFile>;
LogFile open_log(const RunDirectory& directory);

/// Prints the record as JSON, without samples, or the last screen.
void print_result(const Record& record, const RunDirectory& directory, bool json, bool color);

}  // namespace linkgain

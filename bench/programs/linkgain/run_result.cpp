#include "run_result.hpp"

#include <fmt/format.h>

#include "linkgain/base/regular_file.hpp"
#include "linkgain/exec/exec_report.hpp"
#include "linkgain/report/report.hpp"
#include "subcommand.hpp"

namespace linkgain {

std::string markdown_of(const Record& record) {
  return record.settings.program ? exec_markdown(record) : markdown_report(RunSummary(record));
}

std::string screen_of(const Record& record, const std::string& footer, const ScreenStyle& style) {
  return record.settings.program ? exec_screen(record, footer, style)
                                 : screen(RunSummary(record), footer, style);
}

std::string details_of(const Record& record) {
  return record.settings.program ? exec_details(record) : markdown_details(RunSummary(record));
}

LogFile open_log(const RunDirectory& directory) {
  const int file = open_to_write(directory.log(), WriteMode::append);
  return LogFile(file < 0 ? nullptr : ::fdopen(file, "a"));
}

void print_result(const Record& record, const RunDirectory& directory, bool json, bool color) {
  if (json) {
    fmt::print("{}", to_json_without_samples(record));
    return;
  }
  const std::string details =
      fmt::format("Details: linkgain report {}", shown_path(directory.path()));
  fmt::print("\n{}", screen_of(record, details, screen_style(color)));
}

}  // namespace linkgain

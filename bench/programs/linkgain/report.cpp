#include "linkgain/report/report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/exec/exec_report.hpp"
#include "linkgain/fleet/run_list.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/report/screen.hpp"
#include "linkgain/run/run_directory.hpp"
#include "linkgain/tables/terminal_text.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "subcommand.hpp"
#include "terminal.hpp"

namespace linkgain {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  linkgain report                                    the latest run in results/\n"
    "  linkgain report record.json --format csv > run.csv";

struct ReportOptions {
  std::filesystem::path record;  ///< empty: of the latest run
  OutputFormat format = OutputFormat::markdown;
  bool color = true;
  bool pager = true;
};

void declare(CommandLine& line, ReportOptions& options) {
  line.app.add_option("record", options.record,
                      "record.json, a run's folder, or a journal that a crash left; the latest run "
                      "in results/ if none is given");
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  add_output_format(line, options.format, terminal ? OutputFormat::table : OutputFormat::markdown);
  add_no_color(line, options.color);
  line.app.add_flag_callback(
      "--no-pager", [&options] { options.pager = false; },
      "Print what is too long for the terminal, instead of showing it with $PAGER (default: less)");
}

/// The folder below results/ whose record, or journal, was written last. Throws UsageError where
/// there is none.
std::filesystem::path latest_run() {
  std::optional<std::pair<std::filesystem::file_time_type, std::filesystem::path>> latest;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("results", error), end; !error && entry != end;
       entry.increment(error)) {
    for (const std::string_view name : {RunDirectory::kRecord, RunDirectory::kJournal}) {
      std::error_code missing;
      const auto written = std::filesystem::last_write_time(entry->path() / name, missing);
      if (!missing) latest = std::max(latest, std::optional(std::pair(written, entry->path())));
    }
  }
  if (latest) return latest->second;
  throw UsageError("there is no run in results/ of the current folder",
                   "name a record: linkgain report RECORD");
}

std::string table_report(const Record& record, const std::filesystem::path& path, bool color) {
  const std::string footer = "Record: " + path.string();
  const std::size_t columns = terminal_columns();
  const ScreenStyle style = screen_style(color);
  const std::size_t width = columns == kAnyColumns ? columns : style.columns;
  if (record.settings.program) {
    return exec_screen(record, footer, style) + terminal_text(exec_details(record), width);
  }
  const RunSummary summary(record);
  return screen(summary, footer, style) + terminal_text(markdown_details(summary), width);
}

/// `linkgain report`: prints a record's report. Returns the exit status; throws UsageError where
/// the record cannot be read.
int carry_out(const ReportOptions& options) {
  const std::filesystem::path path =
      options.record.empty() ? latest_run() : find_run(options.record);
  Record record = read_record(path);
  summarise(record);
  switch (options.format) {
    case OutputFormat::table:
      show(table_report(record, path, options.color), options.pager);
      break;
    case OutputFormat::markdown:
      fmt::print("{}",
                 document_text(record.settings.program ? exec_markdown(record)
                                                       : markdown_report(RunSummary(record))));
      break;
    case OutputFormat::csv:
      fmt::print("{}", csv(RunSummary(record)));
      break;
    case OutputFormat::json:
      fmt::print("{}", to_json_without_samples(record));
      break;
  }
  return 0;
}

const Registration kRegistration(Subcommand<ReportOptions>{"report",
                                                           "Print the report of a record",
                                                           kFooter,
                                                           {.in_help = 8, .in_list = 8},
                                                           declare,
                                                           carry_out});

}  // namespace
}  // namespace linkgain

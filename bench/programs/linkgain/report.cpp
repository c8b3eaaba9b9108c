#include "linkgain/report/report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/fleet/run_list.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/report/screen.hpp"
#include "linkgain/tables/terminal_text.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "run_result.hpp"
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

std::string table_report(const Record& record, const std::filesystem::path& path, bool color) {
  const std::string footer = "Record: " + path.string();
  const std::size_t columns = terminal_columns();
  const ScreenStyle style = screen_style(color);
  const std::size_t width = columns == kAnyColumns ? columns : style.columns;
  return screen_of(record, footer, style) + terminal_text(details_of(record), width);
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
      fmt::print("{}", document_text(markdown_of(record)));
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

#include "linkgain/report/report.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/fleet/run_list.hpp"
#include "linkgain/record/journal.hpp"
#include "subcommand.hpp"

namespace linkgain {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  linkgain report results/20260101T120000Z_node1_2xH200/record.json\n"
    "  linkgain report record.json --format csv > run.csv";

struct ReportOptions {
  std::filesystem::path record;
  OutputFormat format = OutputFormat::markdown;
};

void declare(CommandLine& line, ReportOptions& options) {
  line.app.add_option("record", options.record, "record.json, or a journal a crash left")
      ->required();
  add_output_format(line, options.format, OutputFormat::markdown);
}

/// `linkgain report`: prints a record's report. Returns the exit status; throws UsageError where
/// the record cannot be read.
int carry_out(const ReportOptions& options) {
  Record record = read_record(find_run(options.record));
  summarise(record);
  switch (options.format) {
    case OutputFormat::table:
    case OutputFormat::markdown:
      fmt::print("{}", markdown_report(RunSummary(record)));
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
                                                           "Print the report of a record again",
                                                           kFooter,
                                                           {.in_help = 8, .in_list = 8},
                                                           declare,
                                                           carry_out});

}  // namespace
}  // namespace linkgain

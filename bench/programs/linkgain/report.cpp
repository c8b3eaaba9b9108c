#include "linkgain/report/report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/visible_text.hpp"
#include "linkgain/exec/exec_report.hpp"
#include "linkgain/fleet/run_list.hpp"
#include "linkgain/formats/csv.hpp"
#include "linkgain/formats/google_benchmark_json.hpp"
#include "linkgain/formats/nccl_tests_tables.hpp"
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
    "  linkgain report record.json --format csv > run.csv\n"
    "  linkgain report --card                             for an issue or a forum\n"
    "  linkgain report record.json --format nccl-tests --variant host";

/// As --format names them, in the order of its words.
enum class ReportFormat {
  table,
  markdown,
  csv,
  json,
  card,
  google_benchmark,
  nccl_tests,
  nccl_tests_json
};

struct ReportOptions {
  std::filesystem::path record;  ///< empty: of the latest run
  ReportFormat format = ReportFormat::markdown;
  RecordSelection selection;  ///< of formats that know one variant
  bool color = true;
  bool pager = true;
};

/// Throws UsageError where a selection was given to a format that has the whole run.
void require_selecting_format(const ReportOptions& options) {
  const bool selects = options.format == ReportFormat::google_benchmark ||
                       options.format == ReportFormat::nccl_tests ||
                       options.format == ReportFormat::nccl_tests_json;
  const RecordSelection& selection = options.selection;
  if (selects || (selection.variant.empty() && selection.operations.empty())) return;
  throw UsageError(
      "--variant and --only go with --format google-benchmark, nccl-tests and "
      "nccl-tests-json only",
      "the other formats have the whole run");
}

void declare(CommandLine& line, ReportOptions& options) {
  line.app.add_option("record", options.record,
                      "record.json, a run's folder, or a journal that a crash left; the latest run "
                      "in results/ if none is given");
  const bool terminal = ::isatty(STDOUT_FILENO) == 1;
  const ReportFormat usual = terminal ? ReportFormat::table : ReportFormat::markdown;
  add_format_words(
      line, "REPORT", static_cast<std::size_t>(usual), {"json", "card"},
      [&options](std::size_t place) { options.format = static_cast<ReportFormat>(place); });
  line.deferred
      .add(
          "--variant", options.selection.variant, [](const std::string& name) { return name; },
          "Of which variant google-benchmark, nccl-tests and nccl-tests-json are")
      ->default_str("the run's first")
      ->type_name("NAME");
  line.deferred
      .add_list("--only", options.selection.operations, parse_operation,
                "Operations that these three have")
      ->type_name("OP,...");
  line.deferred.then([&options] { require_selecting_format(options); });
  add_no_color(line, options.color);
  line.app.add_flag_callback(
      "--no-pager", [&options] { options.pager = false; },
      "Print what is too long for the terminal, instead of showing it with $PAGER (default: less)");
}

std::string table_report(const Record& record, const std::filesystem::path& path, bool color) {
  const std::string footer = "Record: " + visible(path.string());
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
    case ReportFormat::table:
      show(table_report(record, path, options.color), options.pager);
      break;
    case ReportFormat::markdown:
      fmt::print("{}", document_text(markdown_of(record)));
      break;
    case ReportFormat::csv:
      fmt::print("{}", csv(RunSummary(record)));
      break;
    case ReportFormat::json:
      fmt::print("{}", to_json_without_samples(record));
      break;
    case ReportFormat::card:
      fmt::print("{}", document_text(record.settings.program ? exec_card(record)
                                                             : card(RunSummary(record))));
      break;
    case ReportFormat::google_benchmark:
      fmt::print("{}", google_benchmark_json(record, options.selection));
      break;
    case ReportFormat::nccl_tests:
      fmt::print("{}", nccl_tests_tables(record, options.selection));
      break;
    case ReportFormat::nccl_tests_json:
      fmt::print("{}", nccl_tests_document(record, options.selection));
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

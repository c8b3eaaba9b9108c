#include "linkgain/report/report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/names.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/standard_streams.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/fleet/run_list.hpp"
#include "linkgain/formats/csv.hpp"
#include "linkgain/html/run_page.hpp"
#include "linkgain/report/answer.hpp"
#include "linkgain/run/run_directory.hpp"
#include "linkgain/screen/screen.hpp"
#include "subcommand.hpp"
#include "terminal.hpp"

namespace linkgain {

/// As OutputFormat, and the forms that a record alone has.
enum class ReportFormat { table, markdown, csv, json, screen, card, html, svg };

template <>
inline constexpr auto kNames<ReportFormat> = names<ReportFormat>("format",
                                                                 {{ReportFormat::table, "table"},
                                                                  {ReportFormat::markdown, "md"},
                                                                  {ReportFormat::csv, "csv"},
                                                                  {ReportFormat::json, "json"},
                                                                  {ReportFormat::screen, "screen"},
                                                                  {ReportFormat::card, "card"},
                                                                  {ReportFormat::html, "html"},
                                                                  {ReportFormat::svg, "svg"}});

namespace {

constexpr const char* kReportFooter =
    "Examples:\n"
    "  linkgain report                                    the latest run in results/\n"
    "  linkgain report record.json --format csv > run.csv\n"
    "  linkgain report --card                             for an issue or a forum\n"
    "  linkgain report -o answer.svg                      a picture for a README\n"
    "  linkgain report before.json after.json --format html > runs.html";

struct ReportOptions {
  std::vector<std::filesystem::path> records;  ///< empty: of the latest run
  ReportFormat format = ReportFormat::markdown;
  std::optional<std::filesystem::path> output;  ///< absent: standard output
  bool color = true;
  bool pager = true;
};

void declare(CommandLine& line, ReportOptions& options) {
  line.app
      .add_option("record", options.records,
                  "record.json, a run's folder, or a journal that a crash left; the latest run "
                  "in results/ if none is given. Several stand on one page of --format html")
      ->type_name(kRecordValue);
  using enum ReportFormat;
  if (::isatty(STDOUT_FILENO) == 1) options.format = table;
  add_format(line, "REPORT", std::array{table, markdown, csv, json, screen, card, html, svg},
             options.format, {json, card});
  line.app.get_option("--format")->default_str("table on a terminal, else md");
  add_file(line, "-o,--output", options.output,
           "Write the page or picture to this file; FILE.html and FILE.svg need no --format");
  line.deferred.then([&options, usual = options.format, given = line.app.get_option("--format")] {
    const std::string ending = options.output ? options.output->extension().string() : "";
    if (given->count() > 0 || options.format != usual) return;
    if (ending == ".html") options.format = html;
    if (ending == ".svg") options.format = svg;
  });
  add_no_color(line, options.color);
  line.app.add_flag_callback(
      "--no-pager", [&options] { options.pager = false; },
      "Print what is too long for the terminal, instead of showing it with $PAGER (default: less)");
}

/// Knows a page or a picture of ours by what stands below it.
const FileKind kDrawnFile{"a page or picture of a run", [](std::string_view text) {
                            return text.find("Written by linkgain") != std::string_view::npos ||
                                   text.find("Measured by linkgain") != std::string_view::npos;
                          }};

std::string screen_of(const NamedRecord& named, const RunSummary& summary, bool color) {
  return screen(summary, "Record: " + visible(named.name), screen_style(color));
}

/// Shows one run, or several in common.
std::string page_of_all(const std::vector<NamedRecord>& records, const RunSummary& first) {
  const auto is_of_exec = [](const NamedRecord& each) {
    return each.record.settings.program.has_value();
  };
  if (records.size() == 1) return run_page(first);
  if (std::ranges::none_of(records, is_of_exec)) return runs_page(records);
  throw UsageError("a record of linkgain exec has no curve to show beside another one's",
                   "give it alone, or compare the two: linkgain compare BEFORE AFTER");
}

/// Runs are told apart by their labels or folders where these differ, else by their paths.
void name_by_folder(std::vector<NamedRecord>& records) {
  std::set<std::string> names;
  std::vector<std::string> found;
  for (const NamedRecord& each : records) {
    const std::filesystem::path path = each.name;
    const bool in_folder =
        path.filename() == RunDirectory::kRecord || path.filename() == RunDirectory::kJournal;
    const std::string& label = each.record.settings.label;
    found.push_back(!label.empty()                        ? label
                    : in_folder && path.has_parent_path() ? path.parent_path().filename().string()
                                                          : path.stem().string());
    names.insert(found.back());
  }
  if (names.size() < records.size()) return;
  for (std::size_t i = 0; i < records.size(); ++i) records[i].name = found[i];
}

std::string output_text(std::vector<NamedRecord>& records, const ReportOptions& options) {
  NamedRecord& named = records.front();
  const RunSummary summary(named.record);
  if (options.format == ReportFormat::json) {
    named.record.answer = recorded_answer(summary);
    return to_json_without_samples(named.record);
  }
  switch (options.format) {
    case ReportFormat::table:
      return screen_of(named, summary, options.color) + "\n" +
             to_terminal(run_details(summary), document_style(options.color));
    case ReportFormat::markdown:
      return document_text(to_markdown(run_report(summary)));
    case ReportFormat::csv:
      return csv(summary);
    case ReportFormat::screen:
      return screen_of(named, summary, options.color);
    case ReportFormat::card:
      return document_text(card(summary));
    case ReportFormat::html:
      name_by_folder(records);
      return page_of_all(records, summary);
    case ReportFormat::svg:
      return run_svg(summary);
    case ReportFormat::json:
      break;
  }
  return {};
}

/// Carries out `linkgain report`: prints a record's report. Returns 1 where one of several records
/// cannot be read, which is left out, else 0; throws UsageError where none can.
int carry_out(const ReportOptions& options) {
  if (options.records.size() > 1 && options.format != ReportFormat::html) {
    throw UsageError("only --format html shows several records",
                     "give one record, or linkgain compare BEFORE AFTER");
  }
  if (options.output) {
    if (options.format != ReportFormat::html && options.format != ReportFormat::svg) {
      throw UsageError("-o is for --format html and svg", "redirect other formats: > FILE");
    }
    require_own_outputs(files_of_records(options.records), {{"-o", options.output, &kDrawnFile}});
  }
  GivenRecords given =
      read_named_records(options.records.empty() ? std::vector{latest_run()} : options.records);
  for (const Warning& each : given.left_out) {
    print_message(stderr, fmt::format("linkgain: warning: {}\n", visible(each.text)), Seconds{1.0});
  }
  const std::string text = output_text(given.read, options);
  if (options.output) {
    write_own_file(*options.output, kDrawnFile, text);
  } else if (options.format == ReportFormat::table) {
    show(text, options.pager);
  } else {
    fmt::print("{}", text);
  }
  return static_cast<int>(given.left_out.empty() ? ExitCode::success : ExitCode::problem_found);
}

const Registration kReportRegistration(Subcommand<ReportOptions>{"report",
                                                                 "Print the report of a record",
                                                                 {ExitCode::problem_found},
                                                                 kReportFooter,
                                                                 {.in_help = 8, .in_list = 8},
                                                                 declare,
                                                                 carry_out});

}  // namespace
}  // namespace linkgain

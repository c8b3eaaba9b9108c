#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/compare/comparison_report.hpp"
#include "linkgain/compare/run_comparison.hpp"
#include "linkgain/compare/run_reader.hpp"
#include "linkgain/fleet/run_list.hpp"
#include "linkgain/tables/text_lines.hpp"
#include "subcommand.hpp"
#include "terminal.hpp"

namespace linkgain {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  linkgain compare before after      by label: linkgain run --label before\n"
    "  linkgain compare a1.json,a2.json b1.json,b2.json   another program's launches\n"
    "  linkgain compare monday.json tuesday.json wednesday.json --metric busbw";

struct CompareCommandOptions {
  std::vector<std::filesystem::path> runs;  ///< two or more; the others are compared with the first
  OutputFormat format = OutputFormat::table;
  Metric metric = Metric::time;
  CompareOptions compare;
};

Metric parse_metric(const std::string& name) { return parse_name("metric", name, kMetrics); }

std::string text_of(const std::vector<RunComparison>& comparisons,
                    const CompareCommandOptions& options) {
  switch (options.format) {
    case OutputFormat::table:
      return with_colored_verdicts(
          comparison_report(comparisons, options.metric, TableStyle::text, terminal_columns()));
    case OutputFormat::markdown:
      return document_text(comparison_report(comparisons, options.metric, TableStyle::markdown));
    case OutputFormat::csv:
      return comparison_csv(comparisons);
    case OutputFormat::json:
      return to_json(comparisons);
    case OutputFormat::html:
      return comparison_page(comparisons, options.metric);
  }
  return {};
}

std::string names_of(const std::set<OperationKind>& operations) {
  std::vector<std::string_view> names;
  for (const OperationKind operation : operations) names.push_back(name_of(operation));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Throws UsageError where none of the operations asked for is in any run: nothing would be
/// compared, whatever the format.
void require_asked_for(const std::vector<RunFigures>& runs,
                       const std::vector<OperationKind>& operations) {
  const std::set<OperationKind> wanted(operations.begin(), operations.end());
  std::set<OperationKind> known;
  bool found = wanted.empty();
  for (const RunFigures& run : runs) {
    for (const CaseFigures& figures : run.cases) {
      known.insert(figures.definition.operation);
      found = found || wanted.count(figures.definition.operation) != 0;
    }
  }
  if (found) return;
  throw UsageError(fmt::format("--only {}: {} has such a case", names_of(wanted),
                               runs.size() == 2 ? "neither run" : "none of the runs"),
                   known.empty() ? "they have no case at all" : "they have " + names_of(known));
}

void declare(CommandLine& line, CompareCommandOptions& options) {
  line.app
      .add_option("runs", options.runs,
                  "Before and after, or more for a trend: record.json, a run's directory or label, "
                  "or JSON of linkgain-bench or nccl-tests (-J). Several launches are one side by "
                  "commas between their files or as a directory of them")
      ->required();
  line.deferred.then([&options] {
    if (options.runs.size() >= 2) return;
    throw UsageError("compare needs two runs or more",
                     "give the run before, then the one after; see linkgain compare --help");
  });
  line.deferred
      .add_list("--only", options.compare.operations, parse_operation,
                "Operations: " + operation_names())
      ->default_str("every operation")
      ->type_name("OP,...");
  CLI::Option* const metric = line.deferred
                                  .add("--metric", options.metric, parse_metric,
                                       "What the columns show: " + listed(names_of(kMetrics), "or"))
                                  ->default_str("time")
                                  ->type_name("METRIC");
  line.words[metric] = names_of(kMetrics);
  add_tolerance(line, options.compare.tolerance, "Smallest difference that counts");
  add_output_format(line, options.format);
}

/// `linkgain compare`: prints what differs between runs. Returns 0 whatever differs, and that it is
/// inconclusive where no run has a case in common with the first; throws UsageError where a run
/// cannot be read.
int carry_out(const CompareCommandOptions& options) {
  std::vector<RunFigures> runs;
  for (const std::filesystem::path& path : options.runs) runs.push_back(read_run(find_run(path)));
  require_asked_for(runs, options.compare.operations);
  std::vector<RunComparison> comparisons;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    comparisons.push_back(compare_runs(runs.front(), runs[i], options.compare));
  }
  fmt::print("{}", text_of(comparisons, options));
  const bool common = std::ranges::any_of(comparisons, has_common_case);
  return static_cast<int>(common ? ExitCode::success : ExitCode::inconclusive);
}

const Registration kRegistration(Subcommand<CompareCommandOptions>{
    "compare",
    "Compare runs, before and after a change",
    kFooter,
    {.in_help = 6, .in_list = 4},
    declare,
    carry_out});

}  // namespace
}  // namespace linkgain

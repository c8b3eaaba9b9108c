#include <fmt/format.h>
#include <fmt/ranges.h>

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
#include "subcommand.hpp"

namespace linkgain {
namespace {

constexpr const char* kCompareFooter =
    "Examples:\n"
    "  linkgain compare before after      by label: linkgain run --label before\n"
    "  linkgain compare monday.json tuesday.json --metric busbw";

struct CompareCommandOptions {
  std::vector<std::filesystem::path> runs;  ///< the one before and the one after
  OutputFormat format = OutputFormat::table;
  Metric metric = Metric::time;
  CompareOptions compare;
};

std::string output_text(const RunComparison& comparison, const CompareCommandOptions& options) {
  using enum OutputFormat;
  if (options.format == csv) return comparison_csv(comparison);
  if (options.format == json) return to_json(comparison);
  if (options.format == html) return comparison_page(comparison, options.metric);
  return in_format(options.format, comparison_report(comparison, options.metric), {});
}

std::string names_of(const std::set<OperationKind>& operations) {
  std::vector<std::string_view> names;
  for (const OperationKind operation : operations) names.push_back(name_of(operation));
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Throws UsageError where none of the operations asked for is in either run: nothing would be
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
  throw UsageError(fmt::format("--only {}: neither run has such a case", names_of(wanted)),
                   known.empty() ? "they have no case at all" : "they have " + names_of(known));
}

void declare(CommandLine& line, CompareCommandOptions& options) {
  line.app
      .add_option("runs", options.runs,
                  "Before and after: record.json, a run's directory or label, or JSON of "
                  "nccl-tests (-J)")
      ->required()
      ->type_name(kRecordValue);
  line.deferred.then([&options] {
    if (options.runs.size() == 2) return;
    throw UsageError(fmt::format("compare takes two runs, {} given", options.runs.size()),
                     "give the run before, then the one after; see linkgain compare --help");
  });
  line.deferred
      .add_list("--only", options.compare.operations, parse_operation,
                "Operations: " + operation_names())
      ->default_str("every operation")
      ->type_name("OP,...");
  CLI::Option* const metric =
      line.deferred
          .add("--metric", options.metric, from_name<Metric>,
               "What the columns show: " + listed(names_of(kValues<Metric>), "or"))
          ->default_str("time")
          ->type_name("METRIC");
  for (const std::string_view name : names_of(kValues<Metric>)) {
    line.words[metric].emplace_back(name);
  }
  add_tolerance(line, options.compare.tolerance, "Smallest difference that counts");
  add_output_format(line, options.format);
}

/// Carries out `linkgain compare`: prints what differs between two runs. Returns exit_code_of();
/// throws UsageError where one cannot be read.
int carry_out(const CompareCommandOptions& options) {
  std::vector<RunFigures> runs;
  for (const std::filesystem::path& path : options.runs) runs.push_back(read_run(find_run(path)));
  require_asked_for(runs, options.compare.operations);
  const RunComparison comparison = compare_runs(runs[0], runs[1], options.compare);
  fmt::print("{}", output_text(comparison, options));
  return static_cast<int>(exit_code_of(comparison));
}

const Registration kCompareRegistration(Subcommand<CompareCommandOptions>{
    "compare",
    "Compare runs, before and after a change",
    {ExitCode::wrong_data, {ExitCode::inconclusive, "no case can be compared"}},
    kCompareFooter,
    {.in_help = 6, .in_list = 4},
    declare,
    carry_out});

}  // namespace
}  // namespace linkgain

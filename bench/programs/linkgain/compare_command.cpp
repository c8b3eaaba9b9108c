#include "compare_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "linkgain/base/errors.hpp"
#include "linkgain/compare/run_reader.hpp"

namespace linkgain {
namespace {

std::string text_of(const std::vector<RunComparison>& comparisons,
                    const CompareCommandOptions& options) {
  switch (options.format) {
    case OutputFormat::table:
      return comparison_report(comparisons, options.metric, TableStyle::text);
    case OutputFormat::markdown:
      return comparison_report(comparisons, options.metric, TableStyle::markdown);
    case OutputFormat::csv:
      return comparison_csv(comparisons);
    case OutputFormat::json:
      return to_json(comparisons);
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

}  // namespace

int compare_command(const CompareCommandOptions& options) {
  std::vector<RunFigures> runs;
  for (const std::filesystem::path& path : options.runs) runs.push_back(read_run(path));
  require_asked_for(runs, options.compare.operations);
  std::vector<RunComparison> comparisons;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    comparisons.push_back(compare_runs(runs.front(), runs[i], options.compare));
  }
  fmt::print("{}", text_of(comparisons, options));
  return 0;
}

}  // namespace linkgain

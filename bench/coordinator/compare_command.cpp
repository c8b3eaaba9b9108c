#include "linkgain/coordinator/compare_command.hpp"

#include <fmt/format.h>

#include "linkgain/core/run_reader.hpp"

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

}  // namespace

int compare_command(const CompareCommandOptions& options) {
  std::vector<RunFigures> runs;
  for (const std::filesystem::path& path : options.runs) runs.push_back(read_run(path));
  std::vector<RunComparison> comparisons;
  for (std::size_t i = 1; i < runs.size(); ++i) {
    comparisons.push_back(compare_runs(runs.front(), runs[i], options.compare));
  }
  fmt::print("{}", text_of(comparisons, options));
  return 0;
}

}  // namespace linkgain

#pragma once

#include <filesystem>
#include <vector>

#include "linkgain/compare/comparison_report.hpp"
#include "linkgain/compare/run_comparison.hpp"
#include "output_format.hpp"

namespace linkgain {

struct CompareCommandOptions {
  std::vector<std::filesystem::path> runs;  ///< two or more; the others are held against the first
  OutputFormat format = OutputFormat::table;
  Metric metric = Metric::time;
  CompareOptions compare;
};

/// `linkgain compare`: prints what differs between runs. Returns 0 whatever differs; throws
/// UsageError where a run cannot be read.
int compare_command(const CompareCommandOptions& options);

}  // namespace linkgain

#include "fleet_command.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "linkgain/analysis/rank_blame.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/compare/machine_changes.hpp"
#include "linkgain/fleet/fleet.hpp"
#include "linkgain/fleet/fleet_record.hpp"

namespace linkgain {
namespace {

/// Samples are read of so many slow nodes, the worst first: they are most of a record.
constexpr int kMostSampled = 20;

/// Where pairs do not tell which GPU is slow, the times of each rank may.
void blame_ranks(FleetReport& report, double tolerance) {
  int sampled = 0;
  for (FleetNode& node : report.nodes) {
    if (node.slow_cases == 0 || !node.blame.empty() || ++sampled > kMostSampled) continue;
    try {
      const Record record = read_record(node.record);
      const auto rank = slowest_rank(record, node.worst_case, node.worst_variant, tolerance);
      if (rank) node.blame = gpu_label(record.machine, *rank);
    } catch (const Error& error) {
      node.findings.push_back(fmt::format("its samples cannot be read: {}", error.what()));
    }
  }
}

std::string text_of(const FleetReport& report, OutputFormat format) {
  switch (format) {
    case OutputFormat::table:
      return fleet_report(report, TableStyle::text);
    case OutputFormat::markdown:
      return fleet_report(report, TableStyle::markdown);
    case OutputFormat::csv:
      return fleet_csv(report);
    case OutputFormat::json:
      return to_json(report);
  }
  return {};
}

bool is_trouble(const FleetNode& node) {
  return node.state != NodeState::ok && node.state != NodeState::not_judged;
}

}  // namespace

int fleet_command(const FleetCommandOptions& options) {
  const auto files = find_fleet_files(options.records);
  FleetNames names;
  FleetReport report = judge_fleet(read_fleet(files, names), names, options.fleet);
  if (report.nodes.empty()) {
    throw UsageError("no record is there", "give records, or directories with records below them");
  }
  blame_ranks(report, options.fleet.tolerance);
  fmt::print("{}", text_of(report, options.format));
  const bool trouble = std::any_of(report.nodes.begin(), report.nodes.end(), is_trouble);
  return static_cast<int>(trouble ? ExitCode::problem_found : ExitCode::success);
}

}  // namespace linkgain

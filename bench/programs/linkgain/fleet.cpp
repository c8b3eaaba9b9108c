#include "linkgain/fleet/fleet.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/base/hostlist.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/formats/textfile.hpp"
#include "linkgain/hardware/machine.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/tables/prometheus.hpp"
#include "subcommand.hpp"

namespace linkgain {
namespace {

constexpr const char* kFleetFooter =
    "Examples:\n"
    "  linkgain fleet results/nodes                 every record below the directory\n"
    "  linkgain fleet nodes/*.json --expect node[001-128] --format csv > fleet.csv\n"
    "  linkgain fleet nodes --prometheus /var/lib/node_exporter/linkgain_fleet.prom";

struct FleetCommandOptions {
  std::vector<std::filesystem::path> records;  ///< files, or directories with records below them
  OutputFormat format = OutputFormat::table;
  FleetOptions fleet;
  bool name_by_folder = false;
  bool verbose = false;  ///< a row for each node that is ok, too
  std::optional<std::filesystem::path> prometheus;
};

/// Samples are read of so many slow nodes, the worst first: they are most of a record.
constexpr int kMostSampled = 20;

/// Blames ranks by their times where pairs do not tell which GPU is slow.
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

std::string output_text(const FleetReport& report, const FleetNames& names,
                        const FleetCommandOptions& options) {
  using enum OutputFormat;
  const ShownNodes shown = options.verbose ? ShownNodes::all : ShownNodes::not_ok;
  if (options.format == csv) return fleet_csv(report);
  if (options.format == json) return to_json(report);
  if (options.format == html) return fleet_page(report, names, shown);
  return in_format(options.format, fleet_report(report, shown), {});
}

void declare(CommandLine& line, FleetCommandOptions& options) {
  line.app
      .add_option("records", options.records,
                  "Records, or directories: every .json and every journal without a record below "
                  "them")
      ->required()
      ->type_name("FILE");
  line.deferred
      .add("--expect", options.fleet.expected, expand_hostlist,
           "Hosts that must have a record, as Slurm lists them: node[001-128],login1")
      ->type_name("HOSTLIST");
  line.app.add_flag("--name-by-folder", options.name_by_folder,
                    "Name each node after its record's folder, not by the record: a container's "
                    "host name may not be its node's");
  add_tolerance(line, options.fleet.tolerance, "How much slower than its peers a node may be");
  line.app.add_flag("--verbose", options.verbose,
                    "Give each node that is ok a row of its own, with its notes");
  add_output_format(line, options.format);
  add_file(line, "--prometheus", options.prometheus, kPrometheusHelp);
}

/// Carries out `linkgain fleet`: prints a line for each node, and writes the file asked for by way
/// of a temporary one beside it. Returns 1 where a node should be drained or is missing or
/// unreadable, 2 where all are unreadable, 7 where one is an odd machine, stale, inconclusive or
/// was not judged, else 0; throws UsageError where something named is not there or holds no record,
/// or the file is a record or cannot be written.
int carry_out(const FleetCommandOptions& options) {
  const auto files = find_fleet_files(options.records);
  std::vector<NamedFile> inputs;
  for (const std::filesystem::path& file : files) inputs.push_back({"records", file});
  require_own_outputs(inputs, {{"--prometheus", options.prometheus, &kPrometheusFile}});
  require_textfile(options.prometheus, "linkgain_fleet_");
  FleetNames names;
  std::vector<FleetRecord> records = read_fleet(files, names);
  if (options.name_by_folder) {
    for (FleetRecord& record : records) record.machine.host.clear();
  }
  FleetReport report = judge_fleet(records, names, options.fleet);
  if (report.nodes.empty()) {
    throw UsageError("no record is there", "give records, or directories with records below them");
  }
  blame_ranks(report, options.fleet.tolerance);
  if (options.prometheus) write_textfile(*options.prometheus, fleet_prometheus(report));
  fmt::print("{}", output_text(report, names, options));
  return static_cast<int>(exit_code_of(report));
}

const Registration kFleetRegistration(Subcommand<FleetCommandOptions>{
    "fleet",
    "Rank nodes against their peers, slowest first",
    {ExitCode::problem_found,
     {ExitCode::inconclusive, "a node is an odd machine, stale, inconclusive or was not judged"}},
    kFleetFooter,
    {.in_help = 7, .in_list = 7},
    declare,
    carry_out});

}  // namespace
}  // namespace linkgain

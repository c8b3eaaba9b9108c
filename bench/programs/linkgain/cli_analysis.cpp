#include "cli_analysis.hpp"

#include <array>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/hostlist.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/option_parsers.hpp"

namespace linkgain {
namespace {

constexpr const char* kCompareExamples =
    "Examples:\n"
    "  linkgain compare before/record.json after/record.json\n"
    "  linkgain compare a1.json,a2.json,a3.json b1.json,b2.json,b3.json      another program's\n"
    "  linkgain compare monday.json tuesday.json wednesday.json --only all_reduce --metric busbw";

constexpr const char* kFleetExamples =
    "Examples:\n"
    "  linkgain fleet results/nodes                      every record below the directory\n"
    "  linkgain fleet nodes/*.json --expect node[001-128] --format csv > fleet.csv";

Metric parse_metric(const std::string& name) {
  static constexpr std::array<std::string_view, 3> kNames{"time", "busbw", "algbw"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (name == kNames[i]) return static_cast<Metric>(i);
  }
  throw UsageError(unknown_name("metric", name, kNames));
}

}  // namespace

CompareCommandLine::CompareCommandLine(CLI::App& program)
    : command_(program.add_subcommand(
          "compare", "Say what changed between runs, in the machine and in every case")) {
  command_->footer(kCompareExamples);
  command_
      ->add_option(
          "runs", runs_,
          "Before and after, or more for a trend: record.json, a run's directory, or JSON of "
          "linkgain-bench or nccl-tests (-J), several launches as one side by commas between "
          "their files or as a directory of them")
      ->required();
  command_->add_option("--only", only_, "Operations: " + operation_names())
      ->delimiter(',')
      ->type_name("OP,...");
  command_->add_option("--metric", metric_, "What the columns show: time, busbw or algbw")
      ->type_name("METRIC");
  command_
      ->add_option("--threshold", threshold_,
                   "Smallest difference that counts, 2% unless given; 0.1% to 50%")
      ->type_name("SHARE");
  command_->add_option("--format", format_, "table, md, csv or json")->type_name("FORMAT");
  command_->add_flag("--json", json_, "The same as --format json");
}

CompareCommandOptions CompareCommandLine::read() const {
  CompareCommandOptions options;
  if (runs_.size() < 2) {
    throw UsageError("compare needs two runs or more",
                     "give the run before, then the one after; see linkgain compare --help");
  }
  options.runs.assign(runs_.begin(), runs_.end());
  options.format = parse_output_format(json_ ? "json" : format_);
  options.metric = parse_metric(metric_);
  options.compare.threshold = parse_share(threshold_, "--threshold", 0.001, 0.5);
  options.compare.operations = parse_each<OperationKind>(only_, parse_operation);
  return options;
}

FleetCommandLine::FleetCommandLine(CLI::App& program)
    : command_(program.add_subcommand(
          "fleet", "Hold the records of many nodes against each other, the worst first")) {
  command_->footer(kFleetExamples);
  command_
      ->add_option("records", records_,
                   "Records, or directories: every .json and every journal without a record below "
                   "them")
      ->required();
  command_
      ->add_option("--expect", expected_,
                   "Hosts that must have a record, as Slurm lists them: node[001-128],login1")
      ->type_name("HOSTLIST");
  command_
      ->add_option("--tolerance", tolerance_,
                   "What a node may be slower than its peers, 5% unless given; 0.1% to 50%")
      ->type_name("SHARE");
  command_->add_option("--format", format_, "table, md, csv or json")->type_name("FORMAT");
  command_->add_flag("--json", json_, "The same as --format json");
}

FleetCommandOptions FleetCommandLine::read() const {
  FleetCommandOptions options;
  options.records.assign(records_.begin(), records_.end());
  options.format = parse_output_format(json_ ? "json" : format_);
  options.fleet.tolerance = parse_share(tolerance_, "--tolerance", 0.001, 0.5);
  options.fleet.expected = expand_hostlist(expected_);
  return options;
}

}  // namespace linkgain

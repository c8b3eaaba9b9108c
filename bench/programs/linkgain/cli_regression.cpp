#include "cli_regression.hpp"

#include "linkgain/base/errors.hpp"
#include "linkgain/cases/option_parsers.hpp"

namespace linkgain {
namespace {

constexpr const char* kBaselineExamples =
    "Examples:\n"
    "  linkgain baseline results/node1/record.json -o h200x2.json    after run --launches 8\n"
    "  linkgain baseline node1/ node2/ node3/ -o h200x2.json --tolerance 3%";

constexpr const char* kCheckExamples =
    "Exit status: 0 no case fails; 1 a case fails; 7 none fails, but a headline case (of its\n"
    "operation's largest size) or more than a fifth of all is inconclusive; 2 unreadable input, "
    "or\n"
    "another kind of machine.\n\n"
    "Examples:\n"
    "  linkgain check results/node7/record.json --baseline h200x2.json\n"
    "  linkgain check out/ --baseline h200x2.json --junit check.xml --prometheus linkgain.prom";

constexpr const char* kRecordsHelp = "record.json, a journal, or a run's directory; one or more";

}  // namespace

BaselineCommandLine::BaselineCommandLine(CLI::App& program)
    : command_(program.add_subcommand(
          "baseline", "Keep what a machine does as what later runs are held against")) {
  command_->footer(kBaselineExamples);
  command_->add_option("record", records_, kRecordsHelp)->required();
  command_->add_option("-o,--output", output_, "The baseline, JSON to be read and edited")
      ->type_name("FILE");
  command_
      ->add_option("--tolerance", tolerance_,
                   "How far a time may lie from its reference, either way")
      ->capture_default_str()
      ->type_name("SHARE");
  command_->add_flag("--json", json_, "Print the baseline; -o is then not needed");
}

BaselineOptions BaselineCommandLine::read() const {
  BaselineOptions options{.records = records_,
                          .output = std::nullopt,
                          .tolerance = parse_tolerance(tolerance_, "--tolerance"),
                          .json = json_};
  if (command_->count("--output") > 0) options.output = output_;
  if (options.output && options.output->empty()) throw UsageError("-o needs the name of a file");
  if (!options.output && !json_) {
    throw UsageError("nowhere to write the baseline to", "give -o FILE, or --json to print it");
  }
  return options;
}

CheckCommandLine::CheckCommandLine(CLI::App& program)
    : command_(program.add_subcommand("check", "Hold a run against a baseline: is it slower?")) {
  command_->footer(kCheckExamples);
  command_->add_option("record", records_, kRecordsHelp)->required();
  command_->add_option("--baseline", baseline_, "What `linkgain baseline` wrote")
      ->required()
      ->type_name("FILE");
  command_
      ->add_option("--tolerance", tolerance_,
                   "As 5% or 0.05, either way, for every case, instead of the baseline's")
      ->type_name("SHARE");
  command_->add_option("--format", format_, "table, md, csv or json")->type_name("FORMAT");
  command_->add_flag("--json", json_, "The same as --format json");
  command_->add_option("--junit", junit_, "Write JUnit XML")->type_name("FILE");
  command_->add_option("--prometheus", prometheus_, "Write a textfile for node_exporter")
      ->type_name("FILE");
}

CheckOptions CheckCommandLine::read() const {
  CheckOptions options;
  options.records = records_;
  options.baseline = baseline_;
  if (command_->count("--tolerance") > 0)
    options.tolerance = parse_tolerance(tolerance_, "--tolerance");
  options.format = parse_output_format(json_ ? "json" : format_);
  if (command_->count("--junit") > 0) options.junit = junit_;
  if (command_->count("--prometheus") > 0) options.prometheus = prometheus_;
  return options;
}

}  // namespace linkgain

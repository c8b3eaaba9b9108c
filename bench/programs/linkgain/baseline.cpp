#include "linkgain/baseline/baseline.hpp"

#include <fmt/format.h>

#include "linkgain/base/errors.hpp"
#include "linkgain/telemetry/host.hpp"
#include "subcommand.hpp"

namespace linkgain {
namespace {

constexpr const char* kBaselineFooter =
    "Examples:\n"
    "  linkgain baseline results/node1/record.json -o h200x2.json\n"
    "  linkgain baseline node1/ node2/ node3/ -o h200x2.json --tolerance 3%";

struct BaselineOptions {
  std::vector<std::filesystem::path> records;
  std::optional<std::filesystem::path> output;  ///< absent only with `json`
  Tolerance tolerance;                          ///< written for every case
  bool json = false;                            ///< print the document instead of a summary
};

void declare(CommandLine& line, BaselineOptions& options) {
  line.app
      .add_option("record", options.records,
                  "record.json, a journal, or a run's directory; one or more")
      ->required()
      ->type_name(kRecordValue);
  add_file(line, "-o,--output", options.output, "The baseline, JSON to be read and edited");
  add_tolerance(line, options.tolerance)->default_str(share_text(kDefaultTolerance));
  line.app.add_flag("--json", options.json, "Print the baseline; -o is then not needed");
  line.deferred.then([&options] {
    if (options.output || options.json) return;
    throw UsageError("nowhere to write the baseline to", "give -o FILE, or --json to print it");
  });
}

/// Carries out `linkgain baseline`: makes a baseline from records, writes it and says what is in
/// it. Returns 1 where one of several records cannot be read, which is left out, else 0; throws
/// UsageError where none can be read or they do not belong together, or the file is one of theirs.
int carry_out(const BaselineOptions& options) {
  require_own_outputs(files_of_records(options.records), {{"-o", options.output, &kBaselineFile}});
  const GivenRecords given = read_named_records(options.records);
  Baseline baseline = make_baseline(given.read, options.tolerance, utc_now(false));
  baseline.warnings.insert(baseline.warnings.end(), given.left_out.begin(), given.left_out.end());
  const std::string document = to_json(baseline);
  if (options.output) write_own_file(*options.output, kBaselineFile, document);
  fmt::print("{}", options.json ? document
                                : to_terminal(baseline_summary(baseline), document_style()) + "\n");
  if (options.output && !options.json) fmt::print("baseline: {}\n", options.output->string());
  return static_cast<int>(given.left_out.empty() ? ExitCode::success : ExitCode::problem_found);
}

const Registration kBaselineRegistration(Subcommand<BaselineOptions>{
    "baseline",
    "Create a baseline from one or more runs",
    {ExitCode::problem_found},
    kBaselineFooter,
    {.in_help = 4, .in_list = 5},
    declare,
    carry_out});

}  // namespace
}  // namespace linkgain

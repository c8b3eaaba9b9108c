#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <vector>

#include "linkgain/base/regular_file.hpp"
#include "linkgain/baseline/check_report.hpp"
#include "linkgain/baseline/regression.hpp"
#include "linkgain/cases/tolerance.hpp"
#include "linkgain/formats/textfile.hpp"
#include "linkgain/tables/junit.hpp"
#include "linkgain/tables/prometheus.hpp"
#include "subcommand.hpp"
#include "terminal.hpp"

namespace linkgain {
namespace {

constexpr const char* kCheckDescription =
    "Test a run for regressions against a baseline\n"
    "The check fails if a case fails. It is inconclusive if none fails, but a headline case (of "
    "its operation's largest size) or more than a fifth of all is inconclusive, or one of several "
    "records cannot be read. A run of another kind of machine is refused.";

constexpr const char* kCheckFooter =
    "Examples:\n"
    "  linkgain check results/node7/record.json --baseline h200x2.json\n"
    "  linkgain check out/ --baseline h200x2.json --junit check.xml";

struct CheckOptions {
  std::vector<std::filesystem::path> records;
  std::filesystem::path baseline;
  std::optional<Tolerance> tolerance;  ///< instead of the baseline's
  OutputFormat format = OutputFormat::table;
  std::optional<std::filesystem::path> junit;
  std::optional<std::filesystem::path> prometheus;
};

std::string output_text(const CheckResult& result, OutputFormat format) {
  switch (format) {
    case OutputFormat::table:
      return to_terminal(check_table(result), document_style());
    case OutputFormat::markdown:
      return document_text(to_markdown(check_report(result)));
    case OutputFormat::csv:
      return check_csv(result);
    case OutputFormat::json:
      return to_json(result);
    case OutputFormat::html:
      return check_page(result);
    case OutputFormat::svg:
      break;
  }
  return {};
}

void declare(CommandLine& line, CheckOptions& options) {
  line.app
      .add_option("record", options.records,
                  "record.json, a journal, or a run's directory; one or more")
      ->required()
      ->type_name(kRecordValue);
  line.app.add_option("--baseline", options.baseline, "What `linkgain baseline` wrote")
      ->required()
      ->type_name("FILE");
  add_tolerance(line, options.tolerance)->default_str("the baseline's of each case");
  add_output_format(line, options.format);
  add_file(line, "--junit", options.junit, kJunitHelp);
  add_file(line, "--prometheus", options.prometheus, kPrometheusHelp);
}

void write_files(const CheckOptions& options, const std::string& junit,
                 const std::string& prometheus) {
  if (options.junit) write_own_file(*options.junit, kJunitFile, junit);
  if (options.prometheus) write_textfile(*options.prometheus, prometheus);
}

/// Returns what `work` does. Where it refuses what was given, the files asked for say so: what an
/// earlier check left there would pass for this one's.
template <typename Work>
auto or_files_say_why(const CheckOptions& options, const Work& work) {
  try {
    return work();
  } catch (const UsageError& error) {
    write_files(options, unchecked_junit(error.what()), unchecked_prometheus());
    throw;
  }
}

/// Carries out `linkgain check`: compares records with a baseline, prints the result and writes the
/// files asked for, each by way of a temporary file beside it. Returns the exit status of the
/// check; throws UsageError where no record can be read, something cannot be written, a file asked
/// for is one that is read or asked for twice, or the records are of another kind of machine.
int carry_out(const CheckOptions& options) {
  std::vector<NamedFile> inputs =
      or_files_say_why(options, [&] { return files_of_records(options.records); });
  inputs.push_back({"--baseline", options.baseline});
  require_own_outputs(inputs, {{"--junit", options.junit, &kJunitFile},
                               {"--prometheus", options.prometheus, &kPrometheusFile}});
  require_textfile(options.prometheus, "linkgain_check_");
  const CheckResult result = or_files_say_why(options, [&] {
    const Baseline baseline = read_baseline(options.baseline);
    const GivenRecords given = read_named_records(options.records);
    CheckResult checked = check_records(given.read, baseline, options.tolerance);
    checked.left_out = std::ssize(given.left_out);
    checked.warnings.insert(checked.warnings.end(), given.left_out.begin(), given.left_out.end());
    return checked;
  });
  write_files(options, check_junit(result), check_prometheus(result));
  fmt::print("{}", output_text(result, options.format));
  return static_cast<int>(exit_code_of(result));
}

const Registration kCheckRegistration(Subcommand<CheckOptions>{
    "check",
    kCheckDescription,
    {ExitCode::problem_found,
     {ExitCode::inconclusive,
      "inconclusive, or one of several records cannot be read and was left out"}},
    kCheckFooter,
    {.in_help = 5, .in_list = 6},
    declare,
    carry_out});

}  // namespace
}  // namespace linkgain

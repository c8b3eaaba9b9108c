#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "linkgain/fleet/run_list.hpp"
#include "subcommand.hpp"

namespace linkgain {
namespace {

constexpr const char* kListFooter =
    "Examples:\n"
    "  linkgain list                     the runs below results/, the newest first\n"
    "  linkgain list /shared --json";

struct ListOptions {
  std::filesystem::path folder{kResultsFolder};
  OutputFormat format = OutputFormat::table;
};

void declare(CommandLine& line, ListOptions& options) {
  line.app.add_option("folder", options.folder, "Where the runs are")
      ->default_str("results")
      ->type_name("DIR");
  add_output_format(line, options.format);
}

Document document_of(const std::vector<ListedRun>& runs, const std::filesystem::path& folder) {
  Document document;
  if (runs.empty()) {
    document.paragraph("no run is there");
  } else {
    document.table(run_list(runs, folder));
  }
  return document;
}

std::string output_text(const std::vector<ListedRun>& runs, const ListOptions& options) {
  if (options.format == OutputFormat::csv) return run_list_csv(runs);
  if (options.format == OutputFormat::json) return run_list_json(runs);
  return in_format(options.format, document_of(runs, options.folder),
                   "linkgain: runs in " + options.folder.string());
}

/// Carries out `linkgain list`: prints a line for each run. Returns 1 where one of them or a folder
/// cannot be read, 2 where none can, else 0; throws UsageError where there is no such folder.
int carry_out(const ListOptions& options) {
  const std::vector<ListedRun> runs = list_runs(options.folder);
  fmt::print("{}", output_text(runs, options));
  return static_cast<int>(exit_code_of(runs));
}

const Registration kListRegistration(Subcommand<ListOptions>{"list",
                                                             "List the runs in a folder",
                                                             {ExitCode::problem_found},
                                                             kListFooter,
                                                             {.in_help = 11, .in_list = 11},
                                                             declare,
                                                             carry_out});

}  // namespace
}  // namespace linkgain

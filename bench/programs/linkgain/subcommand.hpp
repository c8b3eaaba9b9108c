#pragma once

#include <CLI/App.hpp>
#include <any>
#include <array>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/names.hpp"
#include "linkgain/base/regular_file.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/help_text.hpp"
#include "linkgain/cases/option_parsers.hpp"
#include "linkgain/screen/screen.hpp"
#include "linkgain/tables/document.hpp"

/// What a subcommand's file needs: how it registers itself, and what several of them share.
namespace linkgain {

/// What a command line asks for: to be carried out once; that returns the exit status.
struct Request {
  std::any options;  ///< in the subcommand's own struct
  std::function<int()> carry_out;
};

/// Options of a Request for text instead of work: help or version.
struct TextRequest {
  std::string text;
};

/// Reads `linkgain`'s command line, once. Throws UsageError.
Request parse_command_line(int argc, const char* const* argv);

/// A subcommand's row in the help, and in the list that an unknown command is answered with.
struct Place {
  int in_help = 0;
  int in_list = 0;
};

/// A subcommand as it is while CLI11 parses: `app` has its positional arguments, flags and numbers,
/// `deferred` all that is read afterwards.
struct CommandLine {
  CLI::App& app;
  DeferredOptions& deferred;
  const std::vector<std::string>& arguments;  ///< all that `linkgain` was called with
  /// Those that an option takes and linkgain-bench knows nothing of, for completions.
  std::map<const CLI::Option*, std::vector<std::string>>& words;
};

/// A subcommand: what it is called, what it takes, what it does.
template <typename Options>
struct Subcommand {
  const char* name;
  const char* description;           ///< what it is for, in a line; what it does, behind its end
  std::vector<ExitStatus> statuses;  ///< besides success and usage
  const char* footer;
  Place place;
  /// Says where in `options` each option ends.
  void (*declare)(CommandLine& line, Options& options);
  /// Returns the exit status.
  int (*carry_out)(const Options& options);
};

/// Makes a subcommand known to parse_command_line(); an object of a file's own, made before main().
class Registration {
 public:
  template <typename Options>
  explicit Registration(const Subcommand<Options>& subcommand)
      : Registration(subcommand.name, subcommand.description, subcommand.statuses,
                     subcommand.footer, subcommand.place,
                     [subcommand](CommandLine& line) -> std::function<Request()> {
                       const auto options = std::make_shared<Options>();
                       subcommand.declare(line, *options);
                       return [=] {
                         return Request{*options, [=] { return subcommand.carry_out(*options); }};
                       };
                     }) {}

 private:
  /// Registers a command; `declare` returns what makes the request when all was parsed and read.
  Registration(const char* name, const char* description, std::vector<ExitStatus> statuses,
               const char* footer, Place place,
               std::function<std::function<Request()>(CommandLine& line)> declare);
};

/// How `compare`, `check`, `fleet` and `list` print.
enum class OutputFormat { table, markdown, csv, json, html, svg };

template <>
inline constexpr auto kNames<OutputFormat> = names<OutputFormat>("format",
                                                                 {{OutputFormat::table, "table"},
                                                                  {OutputFormat::markdown, "md"},
                                                                  {OutputFormat::csv, "csv"},
                                                                  {OutputFormat::json, "json"},
                                                                  {OutputFormat::html, "html"},
                                                                  {OutputFormat::svg, "svg"}});

/// Adds --format with its default, and --json; the second takes no csv.
void add_output_format(CommandLine& line, OutputFormat& format);
void add_document_format(CommandLine& line, OutputFormat& format);

/// Shows a document as a terminal, Markdown or a page of this title has it; not for CSV and JSON.
std::string in_format(OutputFormat format, const Document& document, const std::string& title,
                      bool color = true);

/// Draws GPUs and what joins them for a page; empty for other formats and without GPUs.
std::string links_picture(const Topology& topology, OutputFormat format);

/// Adds --format, which takes the names of `formats` and for which `value` stands in the help, and
/// a flag for each of `short_forms`: --card. The default is what `format` is.
template <typename Format, std::size_t count>
void add_format(CommandLine& line, const char* value, const std::array<Format, count>& formats,
                Format& format, const std::vector<Format>& short_forms) {
  const auto chosen = std::make_shared<std::optional<Format>>();  // by a flag, outweighs --format
  const auto parse = [=](const std::string& text) {
    return *chosen ? **chosen : parse_name("format", text, formats);
  };
  CLI::Option* const option = line.deferred
                                  .add("--format", format, parse, listed(names_of(formats), "or"),
                                       std::string(name_of(format)))
                                  ->type_name(value);
  for (const std::string_view name : names_of(formats)) line.words[option].emplace_back(name);
  for (const Format each : short_forms) {
    const std::string name(name_of(each));
    line.app.add_flag_callback(
        "--" + name, [=] { *chosen = each; }, "The same as --format " + name);
  }
}

/// The value of an argument that names a record: its file, or its run's folder or label.
inline constexpr const char* kRecordValue = "RECORD";

/// Adds "--ci-width", "--budget", "--out" and "--label" of what measures; their groups and defaults
/// are the command's.
CLI::Option* add_ci_width(CommandLine& line, std::optional<double>& share);
CLI::Option* add_budget(CommandLine& line, std::optional<Seconds>& budget);
CLI::Option* add_out(CommandLine& line, std::optional<std::filesystem::path>& out);
CLI::Option* add_label(CommandLine& line, std::string& label);
/// Adds "--variant" of the same. `names` are those of the built-in variants of these backends.
CLI::Option* add_variants(CommandLine& line, std::vector<std::string>& variants,
                          const std::string& names, const std::vector<BackendKind>& backends);

/// Adds "--json" and "--quiet" of the same.
void add_record_output(CommandLine& line, bool& json, bool& quiet);

/// Writes "5%", as options take a share.
std::string share_text(double share);

/// Adds "--tolerance" of what compares runs with each other, by default what `share` is; `help`
/// says what it is of.
CLI::Option* add_tolerance(CommandLine& line, double& share, const std::string& help);

/// Adds the same of what compares them with a baseline, to both sides; the default is the
/// command's. `tolerance` is a Tolerance or an optional one.
template <typename Value>
CLI::Option* add_tolerance(CommandLine& line, Value& tolerance) {
  return line.deferred
      .add(
          "--tolerance", tolerance,
          [](const std::string& text) { return parse_tolerance(text, "--tolerance"); },
          "How far a time may lie from its reference, either way, as 5% or 0.05")
      ->type_name("SHARE");
}

/// Adds "--junit", "--prometheus": a file for other programs, written beside what is printed.
CLI::Option* add_file(CommandLine& line, const char* name,
                      std::optional<std::filesystem::path>& file, const char* help);
inline constexpr const char* kJunitHelp = "Write JUnit XML";
inline constexpr const char* kPrometheusHelp = "Write a textfile for node_exporter";

/// Lists what is read of records that a command was given by name, of a run's folder its record and
/// its journal. Throws UsageError where one is a label of no run.
std::vector<NamedFile> files_of_records(const std::vector<std::filesystem::path>& paths);

/// Adds "--no-color".
void add_no_color(CommandLine& line, bool& color);

/// Returns whether to write in colour: on a terminal, unless an option, NO_COLOR, CLICOLOR=0 or
/// TERM=dumb forbids it.
bool is_colored(bool color);

/// Makes documents fit the terminal that standard output is; elsewhere nothing of them is left out.
ScreenStyle document_style(bool color = true);

/// Finds the style of the terminal that standard output is; elsewhere that of 80 columns.
ScreenStyle screen_style(bool color);

/// Writes a path as short as it can be from the current folder, as a word of a command line to be
/// copied.
std::string shown_path(const std::filesystem::path& path);

/// The records that a command was given, and those of them that cannot be read.
struct GivenRecords {
  std::vector<NamedRecord> read;
  std::vector<Warning> left_out;  ///< one for each, with the reason
};

/// Reads the records that a command was given by name: files, journals or runs' directories. What
/// their samples give is taken from these. Throws UsageError where none can be read.
GivenRecords read_named_records(const std::vector<std::filesystem::path>& paths);

}  // namespace linkgain

#include "linkgain/coordinator/cli.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "linkgain/core/build_info.hpp"
#include "linkgain/core/errors.hpp"
#include "linkgain/core/names.hpp"
#include "linkgain/core/option_parsers.hpp"
#include "linkgain/core/sweep.hpp"

namespace linkgain {
namespace {

constexpr const char* kExitCodes =
    "Exit status: 0 success; 1 a problem or regression was found; 2 usage or unreadable input; "
    "3 this machine cannot run it; 4 wrong data; 5 wrong path; 6 incomplete (a job hung, died or "
    "timed out; the record is kept); 7 inconclusive; 8 unhealthy; 128+n ended by signal n.";

constexpr const char* kRunExamples =
    "Examples:\n"
    "  linkgain run                                      P2P on against off, the default profile\n"
    "  linkgain run --only all_reduce --sizes 8:1G:x2    one operation, every power of two";

constexpr const char* kReportExamples =
    "Examples:\n"
    "  linkgain report results/20260101T120000Z_node1_2xH200/record.json\n"
    "  linkgain report record.json --format csv > run.csv";

/// The options of `run` as text; read into RunOptions once all are there.
struct RunTexts {
  std::string backend;
  std::string profile = "default";
  std::vector<std::string> only;
  std::string sizes;
  std::vector<std::string> types;
  std::vector<std::string> reductions;
  std::vector<std::string> launch_modes;
  std::vector<std::string> patterns;
  std::string pair;
  std::string schedule;
  bool no_color = false;
  double budget = 0.0;
  int launches = 0;
  int ranks = 0;
  std::string gpus;
  std::string out;
  std::string hostfile;
};

void add_selection_options(CLI::App& app, RunTexts& texts, RunOptions& options) {
  app.add_option("--only", texts.only, "Operations: all_reduce, send_recv")
      ->delimiter(',')
      ->type_name("OP,...");
  app.add_option("--sizes", texts.sizes,
                 "Bytes: 8:1G:x4 (times 4), 1M:64M:+1M (plus 1 MiB), or a list 8,64K,1G; "
                 "suffixes are binary")
      ->type_name("SIZES");
  app.add_option("--type", texts.types, "Element types, float32 unless told otherwise")
      ->delimiter(',')
      ->type_name("TYPE,...");
  app.add_option("--reduction", texts.reductions, "sum, prod, min, max, avg")
      ->delimiter(',')
      ->type_name("RED,...");
  app.add_option("--launch", texts.launch_modes, "stream, graph")
      ->delimiter(',')
      ->type_name("MODE,...");
  app.add_option("--pattern", texts.patterns, "send_recv: ring, one-way, both-ways")
      ->delimiter(',')
      ->type_name("PATTERN,...");
  app.add_option("--pair", texts.pair, "Ranks of one-way and both-ways; every pair unless given")
      ->type_name("A-B");
  app.add_flag("--in-place", options.in_place, "all_reduce in place");
}

void add_job_options(CLI::App& app, RunTexts& texts, RunOptions& options) {
  app.add_option("--backend", texts.backend,
                 "nccl (GPUs) or mpi (CPU memory); nccl where there are two GPUs")
      ->type_name("NAME");
  app.add_option("--profile", texts.profile, "quick, default, full, node")->type_name("NAME");
  app.add_option("--gpus", texts.gpus, "CUDA device of each rank, for example 0,1")
      ->type_name("LIST");
  app.add_option("--np", texts.ranks, "Ranks; every GPU up to 8 unless given")->type_name("N");
  app.add_option("--variant", options.variants,
                 "p2p, host, p2p-sys, net (mpi: shared-memory, tcp) or your own as "
                 "ring:NCCL_ALGO=Ring; repeat it, the first is the one the others are held against")
      ->type_name("V");
  app.add_option("--launches", texts.launches, "Starts of the jobs; each is a replicate")
      ->type_name("N");
  app.add_option("--schedule", texts.schedule, "paired (in turn) or sequential")->type_name("HOW");
  app.add_option("--launcher", options.launcher, "Program that starts the ranks: mpirun")
      ->type_name("PROGRAM");
  app.add_option("--hostfile", texts.hostfile, "Hosts for mpirun")->type_name("FILE");
  app.add_option("--deadline", options.deadline.value,
                 "Seconds a job may be silent before it is ended")
      ->capture_default_str()
      ->type_name("SECONDS");
}

void add_output_options(CLI::App& app, RunTexts& texts, RunOptions& options) {
  app.add_option("--budget", texts.budget, "Seconds the whole run may take")->type_name("SECONDS");
  app.add_option("--precision", options.precision,
                 "Half width of a ratio's 95 % interval at which a case is done")
      ->capture_default_str()
      ->type_name("SHARE");
  app.add_option("--out", texts.out, "Directory for record and report, made if needed")
      ->type_name("DIR");
  app.add_flag("--json", options.json, "Print the record (without samples) instead of tables");
  app.add_flag("--quiet", options.quiet, "No progress on standard error");
  app.add_flag("--no-color", texts.no_color,
               "No colour; NO_COLOR in the environment does the same");
}

bool parse_schedule(const std::string& text) {
  static constexpr std::array<std::string_view, 2> kNames{"paired", "sequential"};
  if (text == kNames[0]) return false;
  if (text == kNames[1]) return true;
  throw UsageError(unknown_name("schedule", text, kNames));
}

/// Zero and below cannot be told from "not given" in a number, so the option itself is asked.
template <typename Value>
std::optional<Value> given(const CLI::App& app, const char* option, Value value) {
  return app.count(option) > 0 ? std::optional<Value>(value) : std::nullopt;
}

void read_run(const CLI::App& app, const RunTexts& texts, RunOptions& options) {
  if (!texts.backend.empty()) options.backend = parse_backend(texts.backend);
  options.profile = parse_profile(texts.profile);
  options.operations = parse_each<OperationKind>(texts.only, parse_operation);
  if (app.count("--sizes") > 0) options.sizes = parse_sizes(texts.sizes);
  options.types = parse_each<DataType>(texts.types, parse_data_type);
  options.reductions = parse_each<Reduction>(texts.reductions, parse_reduction);
  options.launch_modes = parse_each<LaunchMode>(texts.launch_modes, parse_launch_mode);
  options.patterns = parse_each<Pattern>(texts.patterns, parse_pattern);
  if (!texts.pair.empty()) options.pair = parse_pair(texts.pair);
  if (app.count("--gpus") > 0) options.gpus = parse_gpus(texts.gpus);
  options.ranks = given(app, "--np", texts.ranks);
  options.launches = given(app, "--launches", texts.launches);
  if (const auto budget = given(app, "--budget", texts.budget)) options.budget = Seconds{*budget};
  if (!texts.schedule.empty()) options.sequential = parse_schedule(texts.schedule);
  if (!texts.hostfile.empty()) options.hostfile = texts.hostfile;
  if (!texts.out.empty()) options.out = texts.out;
  options.color = !texts.no_color;
}

ReportOptions::Format parse_format(const std::string& name) {
  static constexpr std::array<std::string_view, 3> kNames{"md", "csv", "json"};
  if (name == "md") return ReportOptions::Format::markdown;
  if (name == "csv") return ReportOptions::Format::csv;
  if (name == "json") return ReportOptions::Format::json;
  throw UsageError(unknown_name("format", name, kNames));
}

/// What was typed and is neither option nor command, and the nearest that is.
std::string describe_stray(const CLI::App& app, const std::vector<std::string>& strays) {
  const auto option = std::find_if(strays.begin(), strays.end(),
                                   [](const std::string& stray) { return stray.starts_with('-'); });
  if (option == strays.end()) {
    static constexpr std::array<std::string_view, 2> kCommands{"run", "report"};
    if (app.get_parent() == nullptr) return unknown_name("command", strays.front(), kCommands);
    return fmt::format("linkgain {} takes no '{}'", app.get_name(), strays.front());
  }
  std::vector<std::string> names;
  for (const CLI::Option* known : app.get_options()) {
    for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string given = option->substr(0, option->find('='));
  return fmt::format("unknown option '{}': did you mean {}?", given,
                     nearest_name(given, candidates));
}

UsageError usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::vector<std::string> strays = app.remaining(true);
  const bool stray = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  const bool no_number = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ConversionError);
  const std::string problem =
      no_number ? fmt::format("{} is no number", error.what()) : error.what();
  return UsageError(
      stray && !strays.empty() ? describe_stray(command, strays) : problem,
      fmt::format("see linkgain {}--help", chosen.empty() ? "" : command.get_name() + " "));
}

std::string version_text() {
  return fmt::format("linkgain {}\n{}\n", build_info().version, build_info().text);
}

}  // namespace

Request parse_command_line(int argc, const char* const* argv) {
  CLI::App app{"linkgain: what a GPU link is worth, measured with P2P on and off", "linkgain"};
  app.footer(kExitCodes);
  app.require_subcommand(0, 1);
  bool version = false;
  app.add_flag("--version", version, "Version and what was built");
  RunTexts texts;
  RunOptions run_options;
  run_options.argv.assign(argv, argv + argc);
  CLI::App* run = app.add_subcommand("run", "Measure every variant in turn and print the table");
  run->footer(kRunExamples);
  add_selection_options(*run, texts, run_options);
  add_job_options(*run, texts, run_options);
  add_output_options(*run, texts, run_options);
  ReportOptions report_options;
  std::string format = "md";
  bool report_json = false;
  CLI::App* report = app.add_subcommand("report", "Print the report of a record again");
  report->footer(kReportExamples);
  report->add_option("record", report_options.record, "record.json, or a journal a crash left")
      ->required();
  report->add_option("--format", format, "md, csv or json")->type_name("FORMAT");
  report->add_flag("--json", report_json, "The same as --format json");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    return TextRequest{chosen.empty() ? app.help() : chosen.front()->help("linkgain")};
  } catch (const CLI::ParseError& error) {
    throw usage_error(app, error);
  }
  if (version) return TextRequest{version_text()};
  if (run->parsed()) {
    read_run(*run, texts, run_options);
    return run_options;
  }
  if (report->parsed()) {
    report_options.format = parse_format(report_json ? "json" : format);
    return report_options;
  }
  return TextRequest{app.help()};
}

}  // namespace linkgain

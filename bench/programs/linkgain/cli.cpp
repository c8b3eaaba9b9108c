#include "cli.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "cli_analysis.hpp"
#include "cli_regression.hpp"
#include "cli_run.hpp"
#include "linkgain/base/build_info.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/option_errors.hpp"

namespace linkgain {
namespace {

constexpr const char* kExitCodes =
    "Exit status: 0 success; 1 a problem or regression was found; 2 usage or unreadable input; "
    "3 this machine cannot run it; 4 wrong data; 5 wrong path; 6 incomplete (a job hung, died or "
    "timed out, the record is kept; or nothing asked for was measured); 7 inconclusive; 8 "
    "unhealthy; 128+n ended by signal n.";

constexpr const char* kTopoExamples =
    "Examples:\n"
    "  linkgain topo              the matrix of nvidia-smi topo -m, link rates, PCIe and P2P\n"
    "  linkgain topo --json > topology.json";

constexpr const char* kDoctorExamples =
    "Examples:\n"
    "  linkgain doctor            every check that needs no load\n"
    "  linkgain doctor --load     the PCIe links at work too";

constexpr const char* kReportExamples =
    "Examples:\n"
    "  linkgain report results/20260101T120000Z_node1_2xH200/record.json\n"
    "  linkgain report record.json --format csv > run.csv";

ReportOptions::Format parse_format(const std::string& name) {
  static constexpr std::array<std::string_view, 3> kNames{"md", "csv", "json"};
  if (name == "md") return ReportOptions::Format::markdown;
  if (name == "csv") return ReportOptions::Format::csv;
  if (name == "json") return ReportOptions::Format::json;
  throw UsageError(unknown_name("format", name, kNames));
}

/// The options of `report` as text.
struct ReportTexts {
  std::filesystem::path record;
  std::string format = "md";
  bool json = false;
};

const CLI::App* add_report(CLI::App& app, ReportTexts& texts) {
  CLI::App* report = app.add_subcommand("report", "Print the report of a record again");
  report->footer(kReportExamples);
  report->add_option("record", texts.record, "record.json, or a journal a crash left")->required();
  report->add_option("--format", texts.format, "md, csv or json")->type_name("FORMAT");
  report->add_flag("--json", texts.json, "The same as --format json");
  return report;
}

ReportOptions read_report(const ReportTexts& texts) {
  return {texts.record, parse_format(texts.json ? "json" : texts.format)};
}

const CLI::App* add_topo(CLI::App& app, TopoOptions& options) {
  CLI::App* topo = app.add_subcommand("topo", "Show the GPUs and what lies between them");
  topo->footer(kTopoExamples);
  topo->add_flag("--json", options.json, "Print one JSON document");
  return topo;
}

const CLI::App* add_doctor(CLI::App& app, DoctorOptions& options, bool& no_color) {
  CLI::App* doctor = app.add_subcommand("doctor", "Look for what holds this machine's GPUs back");
  doctor->footer(kDoctorExamples);
  doctor->add_flag("--json", options.json, "Print one JSON document");
  doctor->add_flag("--load", options.load,
                   "Copy between host and GPUs and look at PCIe links meanwhile");
  doctor->add_flag("--no-color", no_color, "No colour; NO_COLOR in the environment does the same");
  return doctor;
}

/// What was typed and is neither option nor command, and the nearest that is.
std::string describe_stray(const CLI::App& app, const std::vector<std::string>& strays) {
  const auto option = std::find_if(strays.begin(), strays.end(),
                                   [](const std::string& stray) { return stray.starts_with('-'); });
  if (option == strays.end()) {
    static constexpr std::array<std::string_view, 8> kCommands{
        "run", "topo", "doctor", "compare", "baseline", "check", "fleet", "report"};
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
  const std::string problem = no_number ? describe_conversion_error(error.what()) : error.what();
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
  RunCommandLine run(app);
  TopoOptions topo_options;
  const CLI::App* topo = add_topo(app, topo_options);
  DoctorOptions doctor_options;
  bool no_color = false;
  const CLI::App* doctor = add_doctor(app, doctor_options, no_color);
  const BaselineCommandLine baseline(app);
  const CheckCommandLine check(app);
  const CompareCommandLine compare(app);
  const FleetCommandLine fleet(app);
  ReportTexts report_texts;
  const CLI::App* report = add_report(app, report_texts);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    return TextRequest{chosen.empty() ? app.help() : chosen.front()->help("linkgain")};
  } catch (const CLI::ParseError& error) {
    throw usage_error(app, error);
  }
  if (version) return TextRequest{version_text()};
  if (run.parsed()) return run.read(argc, argv);
  if (topo->parsed()) return topo_options;
  doctor_options.color = !no_color;
  if (doctor->parsed()) return doctor_options;
  if (baseline.parsed()) return baseline.read();
  if (check.parsed()) return check.read();
  if (compare.parsed()) return compare.read();
  if (fleet.parsed()) return fleet.read();
  if (report->parsed()) return read_report(report_texts);
  return TextRequest{app.help()};
}

}  // namespace linkgain

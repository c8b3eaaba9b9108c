#include "subcommand.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <system_error>

#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/base/build_info.hpp"
#include "linkgain/base/environment.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/cases/completion.hpp"
#include "linkgain/cases/help_text.hpp"
#include "linkgain/fleet/run_list.hpp"
#include "linkgain/html/machine_picture.hpp"
#include "linkgain/html/page.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/record/variants.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/run/run_directory.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/telemetry/host.hpp"
#include "terminal.hpp"

namespace linkgain {
namespace {

constexpr const char* kHelp = "help";
constexpr const char* kHelpFlag = "-h,--help";
constexpr const char* kHelpOfFlag = "Show this help";

/// A subcommand of whatever options.
struct Registered {
  std::string name;
  std::string description;
  std::vector<ExitStatus> statuses;
  std::string footer;
  Place place;
  std::function<std::function<Request()>(CommandLine& line)> declare;
};

/// Returns them in no order but that of their files' objects.
std::vector<Registered>& registered() {
  static std::vector<Registered> all;
  return all;
}

std::vector<Registered> registered_by(int Place::*place) {
  std::vector<Registered> all = registered();
  std::ranges::sort(all, {}, [=](const Registered& each) { return each.place.*place; });
  return all;
}

std::string unknown_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Registered& each : registered_by(&Place::in_list)) names.push_back(each.name);
  names.emplace_back(kHelp);
  return unknown_name("command", name, std::vector<std::string_view>(names.begin(), names.end()));
}

/// Options as other tools call them, and ours; of a command that has it the first counts.
constexpr std::array kElsewhere{
    std::pair{"--op", "--only"},         std::pair{"--ops", "--only"},
    std::pair{"--operations", "--only"}, std::pair{"--collectives", "--only"},
    std::pair{"--devices", "--gpus"},    std::pair{"--dtype", "--type"},
    std::pair{"--output", "--out"},      std::pair{"--threshold", "--tolerance"},
    std::pair{"--iters", "--launches"},  std::pair{"--iterations", "--launches"},
    std::pair{"--repeat", "--launches"}, std::pair{"--runs", "--rounds"},
    std::pair{"--repeat", "--rounds"},   std::pair{"--export-json", "--json"},
    std::pair{"--gpus", "--gpus-of"},    std::pair{"--rounds", "--launches"},
    std::pair{"--launches", "--rounds"}, std::pair{"-o", "--out"}};

using KnownWords = std::map<const CLI::Option*, std::vector<std::string>>;

std::vector<std::string> words_of(const CLI::Option& option, const KnownWords& known) {
  const auto own = known.find(&option);
  return own == known.end() ? words_of_declared(option) : own->second;
}

/// Says ": did you mean --only all_reduce?" of a word that is like one of an option's; else
/// nothing.
std::string option_meant(const CLI::App& command, std::string_view word, const KnownWords& known) {
  for (const CLI::Option* option : command.get_options()) {
    const std::vector<std::string> words = words_of(*option, known);
    const std::vector<std::string_view> candidates(words.begin(), words.end());
    const std::string_view nearest = nearest_name(word, candidates);
    if (nearest.empty() || option->get_lnames().empty()) continue;
    return fmt::format(": did you mean --{} {}?", option->get_lnames().front(), nearest);
  }
  return {};
}

/// Says ": linkgain run and compare have it" of an option that others than this command take; else
/// nothing.
std::string commands_with(const CLI::App& command, const std::string& option) {
  const CLI::App& program = command.get_parent() == nullptr ? command : *command.get_parent();
  std::vector<std::string> names;
  for (const CLI::App* each : program.get_subcommands(nullptr)) {
    if (each->get_option_no_throw(option) != nullptr) names.push_back(each->get_name());
  }
  const std::vector<std::string_view> all(names.begin(), names.end());
  return all.empty()
             ? ""
             : fmt::format(": linkgain {} {} it", listed(all), all.size() == 1 ? "has" : "have");
}

/// Says what was typed and is neither option nor command, and what was meant if something is near.
/// The command's own strays come first: the program's words, behind "--", may be all others.
std::string describe_stray(const CLI::App& app, const std::vector<std::string>& all,
                           const KnownWords& known_words) {
  const std::vector<std::string> own = app.remaining();
  const std::vector<std::string>& strays = own.empty() ? all : own;
  const auto option =
      std::ranges::find_if(strays, [](const std::string& stray) { return stray.starts_with('-'); });
  if (option == strays.end()) {
    if (app.get_parent() == nullptr) return unknown_command(strays.front());
    return fmt::format("linkgain {} takes no '{}'{}", app.get_name(), strays.front(),
                       option_meant(app, strays.front(), known_words));
  }
  std::vector<std::string> names;
  for (const CLI::Option* known : app.get_options()) {
    for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
  }
  const std::vector<std::string_view> candidates(names.begin(), names.end());
  const std::string given = option->substr(0, option->find('='));
  for (const auto& [elsewhere, ours] : kElsewhere) {
    if (given != elsewhere || std::ranges::find(names, ours) == names.end()) continue;
    return fmt::format("unknown option '{}': did you mean {}?", given, ours);
  }
  std::string meant = did_you_mean(given, candidates);
  if (meant.empty() && given.starts_with("--")) {
    meant = option_meant(app, given.substr(2), known_words);
  }
  if (meant.empty()) meant = commands_with(app, given);
  return fmt::format("unknown option '{}'{}", given, meant);
}

/// Returns the value behind an option's name; `usual` where there is none.
std::string value_after(const std::vector<std::string>& words, std::string_view name,
                        const std::string& usual) {
  const auto found = std::ranges::find(words, name);
  return found == words.end() || found + 1 == words.end() ? usual : found[1];
}

/// Says what to do instead where `linkgain run` was given nccl-tests' flags; else empty.
std::string nccl_tests_advice(const std::vector<std::string>& strays) {
  static constexpr std::array<std::string_view, 7> kFlags{"-b", "-e", "-f", "-g", "-n", "-w", "-c"};
  const auto is_flag = [](const std::string& word) {
    return std::ranges::find(kFlags, word) != kFlags.end();
  };
  if (std::ranges::none_of(strays, is_flag)) return {};
  const std::string smallest = value_after(strays, "-b", "32M");
  const std::string largest = value_after(strays, "-e", smallest);
  const std::string factor = value_after(strays, "-f", "2");
  return fmt::format(
      "linkgain run --sizes {}:{}:x{} measures these sizes; nccl-tests' flags are those of: "
      "linkgain bench {}",
      smallest, largest, factor, fmt::join(strays, " "));
}

/// Says how a program is measured that stands where none does; empty where the first word is none.
std::string program_advice(const std::vector<std::string>& strays) {
  std::vector<std::string> words = strays;
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
  if (words.empty()) return {};
  const bool is_path = words.front().find('/') != std::string::npos;
  const bool is_program = is_path ? is_executable(words.front())
                                  : find_program(words.front(), current_environment()).has_value();
  if (!is_program) return {};
  return "to measure a program of yours: linkgain exec -- " + shown_command(words);
}

/// Returns the word that stands before the "--" of `linkgain exec` and is no option's. CLI11 then
/// takes the command for strays, and this word for the command.
std::optional<std::string> word_before_command(const CLI::App& command) {
  if (command.get_name() != "exec" || !command.remaining().empty()) return std::nullopt;
  const std::vector<std::string>& words = command.get_option("command")->results();
  return words.empty() ? std::nullopt : std::optional(words.front());
}

/// Says how the command of `linkgain exec` is given that has options and no "--" before it; empty
/// where exec itself was given the option, or has the "--".
std::string exec_advice(const CLI::App& command, const std::vector<std::string>& arguments) {
  if (command.get_name() != "exec" || std::ranges::count(arguments, "--") > 0) return {};
  const std::vector<std::string>& words = command.get_option("command")->results();
  if (words.empty() || command.remaining().empty()) return {};
  const auto program = std::ranges::find(arguments, words.front());
  if (std::ranges::find(arguments, command.remaining().front()) < program) return {};
  const std::vector<std::string> own(arguments.begin() + 1, program);
  return fmt::format("linkgain {} -- {}", shown_command(own),
                     shown_command({program, arguments.end()}));
}

UsageError usage_error(const CLI::App& app, const CLI::ParseError& error, const KnownWords& known,
                       const std::vector<std::string>& arguments) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::vector<std::string> strays = app.remaining(true);
  const bool stray = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  const bool is_run = command.get_name() == "run";
  std::string instead = is_run || chosen.empty() ? program_advice(strays) : "";
  if (is_run && instead.empty()) instead = nccl_tests_advice(strays);
  if (stray && !instead.empty()) return UsageError(describe_stray(command, strays, known), instead);
  if (const std::string advice = exec_advice(command, arguments); stray && !advice.empty()) {
    return UsageError("the command of exec, with its options, goes behind --", advice);
  }
  if (const auto word = word_before_command(command); stray && word) {
    return UsageError(fmt::format("'{}' stands where no option does", *word),
                      fmt::format("join a value that may be left out to its option, as in: "
                                  "--higher-is-better={}",
                                  *word));
  }
  return UsageError(
      stray && !strays.empty() ? describe_stray(command, strays, known)
                               : describe_conversion_error(error.what()),
      fmt::format("see linkgain {}--help", chosen.empty() ? "" : command.get_name() + " "));
}

Request text_request(const std::string& text) {
  return {TextRequest{text}, [=] {
            fmt::print("{}", text);
            return 0;
          }};
}

std::string version_text() {
  return fmt::format("linkgain {}\n{}\n", build_info().version, build_info().text);
}

/// Names the labels of the runs in results/; none where that cannot be read.
std::vector<std::string> labels_of_runs() {
  std::vector<std::string> labels;
  std::error_code error;
  if (!std::filesystem::is_directory(kResultsFolder, error)) return labels;
  for (const ListedRun& run : list_runs(kResultsFolder)) {
    if (!run.label.empty()) labels.push_back(run.label);
  }
  return labels;
}

Request completion_request(const CLI::App& app, const KnownWords& known,
                           const std::vector<std::string>& words) {
  const auto words_or_labels = [&](const CLI::Option& option) {
    return option.get_type_name() == kRecordValue ? labels_of_runs() : words_of(option, known);
  };
  return text_request(completions(app, words, words_or_labels));
}

/// The positional argument of commands that read records.
constexpr std::string_view kRecordName = "record";

/// A subcommand of one command line.
struct Declared {
  explicit Declared(CLI::App& app) : deferred(app) {}
  DeferredOptions deferred;
  std::function<Request()> request;
};

}  // namespace

Registration::Registration(const char* name, const char* description,
                           std::vector<ExitStatus> statuses, const char* footer, Place place,
                           std::function<std::function<Request()>(CommandLine& line)> declare) {
  registered().push_back(
      {name, description, std::move(statuses), footer, place, std::move(declare)});
}

Request parse_command_line(int argc, const char* const* argv) {
  CLI::App app("linkgain: measures how much NVLink speeds up NCCL, with P2P on and off",
               "linkgain");
  app.require_subcommand(0, 1);
  app.set_help_flag(kHelpFlag, kHelpOfFlag);
  bool version = false;
  app.add_flag("-V,--version", version, "Version and what was built");
  const std::vector<std::string> arguments(argv, argv + argc);
  std::vector<std::unique_ptr<Declared>> commands;
  KnownWords known;
  std::vector<ExitStatus> statuses;
  for (const Registered& each : registered_by(&Place::in_help)) {
    CLI::App* const command = app.add_subcommand(each.name, each.description);
    command->set_help_flag(kHelpFlag, kHelpOfFlag);
    command->footer(exit_status_text(each.statuses) + "\n\n" + each.footer);
    for (const ExitStatus& status : each.statuses) statuses.emplace_back(status.code);
    commands.push_back(std::make_unique<Declared>(*command));
    CommandLine line{*command, commands.back()->deferred, arguments, known};
    commands.back()->request = each.declare(line);
  }
  app.footer(exit_status_text(statuses));
  std::string topic;
  CLI::App* const help = app.add_subcommand(kHelp, "Show the help of a command");
  help->set_help_flag(kHelpFlag, kHelpOfFlag);
  CLI::Option* const topics = help->add_option("command", topic, "One of linkgain's commands");
  if (argc > 1 && arguments[1] == kCompletionOption) {
    for (const CLI::App* each : app.get_subcommands(nullptr)) {
      known[topics].push_back(each->get_name());
    }
    return completion_request(app, known, {arguments.begin() + 2, arguments.end()});
  }
  std::vector<std::string> words = words_to_parse(argc, argv);
  // All words behind bench are linkgain-bench's, with "--" before them or without.
  if (argc > 1 && arguments[1] == "bench") std::erase(words, "--");
  try {
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    const auto chosen = app.get_subcommands();
    return text_request(help_text(chosen.empty() ? app : *chosen.front()));
  } catch (const CLI::ParseError& error) {
    throw usage_error(app, error, known, arguments);
  }
  if (version) return text_request(version_text());
  if (!topic.empty()) {
    const std::vector<CLI::App*> all = app.get_subcommands(nullptr);
    const auto command = std::ranges::find(all, topic, &CLI::App::get_name);
    if (command == all.end()) throw UsageError(unknown_command(topic), "see linkgain --help");
    return text_request(help_text(**command));
  }
  for (const auto& command : commands) {
    if (!command->deferred.app().parsed()) continue;
    command->deferred.read();
    return command->request();
  }
  return text_request(help_text(app));
}

void add_output_format(CommandLine& line, OutputFormat& format) {
  using enum OutputFormat;
  add_format(line, "FORMAT", std::array{table, markdown, csv, json, html}, format, {json});
}

void add_document_format(CommandLine& line, OutputFormat& format) {
  using enum OutputFormat;
  add_format(line, "FORMAT", std::array{table, markdown, json, html}, format, {json});
}

std::string in_format(OutputFormat format, const Document& document, const std::string& title,
                      bool color) {
  if (format == OutputFormat::table) return to_terminal(document, document_style(color));
  if (format == OutputFormat::markdown) return document_text(to_markdown(document));
  Document page;
  page.title(title);
  const std::vector<Document::Block>& blocks = document.blocks();
  if (!blocks.empty() && std::holds_alternative<Document::Paragraph>(blocks.front())) {
    page.heading("Result");
  }
  page.add(document);
  return html_text(page_of(page));
}

std::string links_picture(const Topology& topology, OutputFormat format) {
  return format == OutputFormat::html ? machine_figure(machine_of(topology), "gpus")
                                      : std::string();
}

CLI::Option* add_ci_width(CommandLine& line, std::optional<double>& share) {
  return line.deferred
      .add(
          "--ci-width", share,
          [](const std::string& text) { return parse_share(text, "--ci-width", 1e-4, 0.5); },
          "Stop once the 95 % CI is within SHARE of the ratio, as 5% or 0.05")
      ->type_name("SHARE");
}

CLI::Option* add_budget(CommandLine& line, std::optional<Seconds>& budget) {
  return line.deferred
      .add(
          "--budget", budget,
          [](const std::string& text) {
            return parse_duration(text, "--budget", Seconds{1.0}, Seconds{604800.0});
          },
          "How long the whole run may take, as 300 (seconds), 5m or 8h")
      ->type_name("TIME");
}

CLI::Option* add_out(CommandLine& line, std::optional<std::filesystem::path>& out) {
  const auto parse = [](const std::string& name) { return std::filesystem::path(name); };
  return line.deferred.add("--out", out, parse, "Folder for record and report, made if needed")
      ->default_str("a new one in results")
      ->type_name("DIR");
}

CLI::Option* add_label(CommandLine& line, std::string& label) {
  return line.deferred
      .add("--label", label, parse_label,
           "A name for the run, by which `linkgain list` and `linkgain compare` find it")
      ->type_name("NAME");
}

CLI::Option* add_variants(CommandLine& line, std::vector<std::string>& variants,
                          const std::string& names, const std::vector<BackendKind>& backends) {
  CLI::Option* const option =
      line.app
          .add_option("--variant", variants,
                      names +
                          ", or your own as ring:NCCL_ALGO=Ring; repeatable, the first is the "
                          "reference")
          ->type_name("V");
  for (const BackendKind backend : backends) {
    for (const Variant& variant : built_in_variants({.backend = backend})) {
      line.words[option].push_back(variant.name);
    }
  }
  return option;
}

std::string share_text(double share) { return fmt::format("{:g}%", 100.0 * share); }

CLI::Option* add_tolerance(CommandLine& line, double& share, const std::string& help) {
  return line.deferred
      .add(
          "--tolerance", share,
          [](const std::string& text) { return parse_share(text, "--tolerance", 0.001, 0.5); },
          help + ", as 5% or 0.05")
      ->default_str(share_text(share))
      ->type_name("SHARE");
}

CLI::Option* add_file(CommandLine& line, const char* name,
                      std::optional<std::filesystem::path>& file, const char* help) {
  const auto parse = [](const std::string& path) { return std::filesystem::path(path); };
  return line.deferred.add(name, file, parse, help)->type_name("FILE");
}

std::vector<NamedFile> files_of_records(const std::vector<std::filesystem::path>& paths) {
  std::vector<NamedFile> files;
  for (const std::filesystem::path& named : paths) {
    const std::filesystem::path path = find_run(named);
    std::error_code error;
    if (std::filesystem::is_directory(path, error)) {
      files.push_back({kRecordName, path / RunDirectory::kRecord});
      files.push_back({kRecordName, path / RunDirectory::kJournal});
    } else {
      files.push_back({kRecordName, path});
    }
  }
  return files;
}

void add_record_output(CommandLine& line, bool& json, bool& quiet) {
  line.app.add_flag("--json", json, "Print the record (without samples) instead of tables");
  line.app.add_flag("--quiet", quiet, "No progress on standard error");
}

void add_no_color(CommandLine& line, bool& color) {
  line.app.add_flag_callback(
      "--no-color", [&color] { color = false; },
      "No colour; NO_COLOR in the environment does the same");
}

bool is_colored(bool color) {
  const char* const wanted = std::getenv("CLICOLOR");
  return color && std::getenv("NO_COLOR") == nullptr && is_terminal(STDOUT_FILENO) &&
         (wanted == nullptr || std::string_view(wanted) != "0");
}

ScreenStyle document_style(bool color) {
  const std::size_t columns = terminal_columns();
  return {.columns = columns == kAnyColumns ? columns : screen_style(color).columns,
          .utf8 = has_utf8(),
          .color = is_colored(color)};
}

ScreenStyle screen_style(bool color) {
  constexpr std::size_t kFewestColumns = 40;
  return {.columns = std::max(columns_of(STDOUT_FILENO), kFewestColumns),
          .utf8 = has_utf8(),
          .color = is_colored(color),
          .is_file = ::isatty(STDOUT_FILENO) != 1};
}

std::string shown_path(const std::filesystem::path& held) {
  const std::filesystem::path path = path_of_held(held);
  std::error_code error;
  const std::filesystem::path near = std::filesystem::proximate(path, error);
  const bool below = !error && !near.empty() && *near.begin() != "..";
  const bool is_option = near.string().starts_with('-');
  return shown_word(below && !is_option ? near.string() : path.string());
}

GivenRecords read_named_records(const std::vector<std::filesystem::path>& paths) {
  GivenRecords given;
  std::exception_ptr first;
  for (const std::filesystem::path& path : paths) {
    try {
      given.read.push_back({visible(path.string()), read_record(find_run(path))});
      judge(given.read.back().record);
    } catch (const UsageError& error) {
      if (!first) first = std::current_exception();
      given.left_out.push_back({name_of(WarningCode::incomplete_record),
                                fmt::format("left out: {}", error.what()), error.advice()});
    }
  }
  if (given.read.empty() && first) std::rethrow_exception(first);
  return given;
}

}  // namespace linkgain

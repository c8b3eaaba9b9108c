#include "linkgain/cases/help_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "linkgain/base/names.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

using Options = std::vector<const CLI::Option*>;

constexpr std::array<Named<ExitCode>, 9> kMeanings{
    {{ExitCode::success, "success"},
     {ExitCode::problem_found, "a problem or regression was found"},
     {ExitCode::usage, "wrong usage, unreadable input, or output that cannot be written"},
     {ExitCode::machine_cannot, "this machine cannot run it"},
     {ExitCode::wrong_data, "wrong data"},
     {ExitCode::wrong_path, "wrong path"},
     {ExitCode::incomplete,
      "incomplete: a job or run failed, hung or timed out (the record is kept), or nothing asked "
      "for was measured"},
     {ExitCode::inconclusive,
      "inconclusive, or nothing to compare (only check, compare and fleet)"},
     {ExitCode::unhealthy, "unhealthy, with --require-healthy"}}};

/// Where the second column begins.
constexpr std::size_t kIndent = 24;

std::string row(const std::string& head, const std::string& text) {
  const std::string first = "  " + head;
  const bool fits = first.size() + 2 <= kIndent;
  const std::string gap(fits ? kIndent - first.size() : kIndent, ' ');
  return fits ? hanging(first + gap, text, kHelpColumns)
              : first + "\n" + hanging(gap, text, kHelpColumns);
}

/// Returns "--sizes SIZES", "--rates[=NAME]" or the name of an argument.
std::string head_of(const CLI::Option& option) {
  if (!option.nonpositional()) return option.get_name(true, false);
  std::string head = option.get_name(false, true);
  head = head.substr(0, head.find('{'));  // what a flag without a value stands for
  head = fmt::format("{}", fmt::join(split(head, ','), ", "));
  // Checked for a range "INT:INT in [0 - 3]", which its refusal names.
  const std::string type = option.get_type_name();
  const std::string gap = type.starts_with('[') ? "" : " ";
  if (option.get_type_size() != 0) head += gap + type.substr(0, type.find(':'));
  return head;
}

std::string option_text(const CLI::Option& option) {
  std::string text = option.get_description();
  if (option.get_required()) text += " (required)";
  const std::string usual = option.get_default_str();
  return usual.empty() ? text : fmt::format("{} (default: {})", text, usual);
}

std::string group_text(const std::string& group, const Options& options) {
  std::string text = "\n" + group + ":\n";
  for (const CLI::Option* option : options) text += row(head_of(*option), option_text(*option));
  return text;
}

/// Returns the groups in their order, then the others as they were declared.
std::vector<std::string> groups_of(const CLI::App& app) {
  using namespace option_group;
  std::vector<std::string> groups{kWhat, kHow, kDecoder, kTraining, kWhere, kOutput};
  for (const std::string& group : app.get_groups()) {
    if (std::ranges::find(groups, group) == groups.end()) groups.push_back(group);
  }
  return groups;
}

/// Returns the options of a group, --help last.
Options options_in(const CLI::App& app, const std::string& group) {
  Options options = app.get_options([&](const CLI::Option* option) {
    return option->nonpositional() && option->get_group() == group;
  });
  std::stable_partition(options.begin(), options.end(),
                        [&](const CLI::Option* option) { return option != app.get_help_ptr(); });
  return options;
}

std::string usage_of(const CLI::App& app, const Options& arguments, bool has_commands) {
  std::string usage = "Usage: ";
  if (app.get_parent() != nullptr) usage += app.get_parent()->get_name() + " ";
  usage += app.get_name() + (has_commands ? " [OPTIONS] [COMMAND]" : " [OPTIONS]");
  for (const CLI::Option* argument : arguments) {
    const std::string type = argument->get_type_name();
    const std::string name = type.starts_with("-- ") ? type : argument->get_name(true, false);
    const std::string several = argument->get_items_expected_max() > 1 ? "..." : "";
    usage += argument->get_required() ? " " + name + several : " [" + name + several + "]";
  }
  return usage + "\n";
}

}  // namespace

std::string summary_of(const CLI::App& command) {
  const std::string& description = command.get_description();
  return description.substr(0, description.find('\n'));
}

std::string help_text(const CLI::App& app) {
  const Options arguments =
      app.get_options([](const CLI::Option* option) { return option->get_positional(); });
  const std::vector<const CLI::App*> commands =
      app.get_subcommands([](const CLI::App*) { return true; });
  const std::string summary = summary_of(app);
  const std::string details = app.get_description().substr(summary.size());
  std::string text =
      hanging("", summary, kHelpColumns) + usage_of(app, arguments, !commands.empty());
  if (!details.empty()) text += "\n" + hanging("", details.substr(1), kHelpColumns);
  if (!arguments.empty()) text += group_text("Arguments", arguments);
  if (!commands.empty()) text += "\nCommands:\n";
  for (const CLI::App* command : commands) text += row(command->get_name(), summary_of(*command));
  for (const std::string& group : groups_of(app)) {
    const Options options = options_in(app, group);
    if (!group.empty() && !options.empty()) text += group_text(group, options);
  }
  return app.get_footer().empty() ? text : text + "\n" + app.get_footer() + "\n";
}

std::string exit_status_text(std::span<const ExitStatus> others) {
  const auto line = [](const std::string& status, std::string_view meaning) {
    return hanging(fmt::format("  {:<7}", status), meaning, kHelpColumns);
  };
  std::string text = "Exit status:\n";
  for (const auto& [code, meaning] : kMeanings) {
    const auto own = std::ranges::find(others, code, &ExitStatus::code);
    const bool has_own = own != others.end();
    if (!has_own && code != ExitCode::success && code != ExitCode::usage) continue;
    text += line(std::to_string(static_cast<int>(code)),
                 has_own && !own->meaning.empty() ? own->meaning : meaning);
  }
  text += line(fmt::format("{}+n", kSignalExitBase), "ended by signal n");
  text.pop_back();  // the end of its last line
  return text;
}

}  // namespace linkgain

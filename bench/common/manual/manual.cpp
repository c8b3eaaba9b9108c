#include "linkgain/manual/manual.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include "command_facts.hpp"
#include "linkgain/base/build_info.hpp"
#include "linkgain/base/own_outputs.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

/// Text that roff prints as it is.
std::string plain(std::string_view text) {
  std::string escaped;
  bool begins_line = true;
  for (const char each : text) {
    if (begins_line && (each == '.' || each == '\'')) escaped += "\\&";
    if (each == '\\') {
      escaped += "\\e";
    } else if (each == '-') {
      escaped += "\\-";
    } else {
      escaped += each;
    }
    begins_line = each == '\n';
  }
  return escaped;
}

std::string bold(std::string_view text) { return fmt::format("\\fB{}\\fR", plain(text)); }
std::string italic(std::string_view text) { return fmt::format("\\fI{}\\fR", plain(text)); }

/// ".TP", its tag, its text.
std::string entry(const std::string& tag, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", tag, plain(text));
}

std::string option_entry(const ArgumentFacts& option) {
  std::string tag;
  for (const std::string& name : option.names) {
    tag += (tag.empty() ? "" : ", ") + bold(name);
  }
  if (!option.value.empty() && !option.value.starts_with('[')) tag += " ";
  if (!option.value.empty()) tag += italic(option.value);
  return entry(tag, option.help);
}

std::string synopsis(const CommandFacts& command) {
  std::string text = ".SH SYNOPSIS\n" + bold(command.title);
  if (!command.options.empty()) text += fmt::format(" [{}]", italic("OPTIONS"));
  if (!command.commands.empty()) text += fmt::format(" {}", italic("COMMAND"));
  for (const ArgumentFacts& argument : command.arguments) {
    const std::string name =
        italic(upper(argument.names.front())) + (argument.repeats ? "..." : "");
    text += argument.is_required ? " " + name : fmt::format(" [{}]", name);
  }
  return text + "\n";
}

/// Each group of options under its name, but for the one that CLI11 calls so itself.
std::string options(const CommandFacts& command) {
  std::vector<std::string> groups{"Options"};
  for (const ArgumentFacts& option : command.options) {
    if (std::ranges::find(groups, option.group) == groups.end()) groups.push_back(option.group);
  }
  std::string text = ".SH OPTIONS\n";
  for (const std::string& group : groups) {
    if (group != groups.front()) text += fmt::format(".SS {}\n", plain(group));
    for (const ArgumentFacts& option : command.options) {
      if (option.group == group) text += option_entry(option);
    }
  }
  return text;
}

std::string arguments(const CommandFacts& command) {
  if (command.arguments.empty()) return {};
  std::string text = ".SH ARGUMENTS\n";
  for (const ArgumentFacts& argument : command.arguments) {
    text += entry(italic(upper(argument.names.front())), argument.help);
  }
  return text;
}

std::string commands(const CommandFacts& command) {
  if (command.commands.empty()) return {};
  std::string text = ".SH COMMANDS\n";
  for (const CommandFacts& each : command.commands) text += entry(bold(each.name), each.summary);
  return text;
}

/// "Examples:", "Exit status:".
bool is_heading(const std::string& line) {
  return line.find_first_not_of("abcdefghijklmnopqrstuvwxyz ", 1) == line.size() - 1 &&
         line.ends_with(':') && std::isupper(static_cast<unsigned char>(line.front())) != 0;
}

/// What the help ends with, as it stands there, in sections.
std::string footer(const CommandFacts& command) {
  std::string text;
  bool is_open = false;
  const auto close = [&] {
    if (is_open) text += ".fi\n";
    is_open = false;
  };
  for (const std::string& line : split(command.footer, '\n')) {
    if (line.empty()) continue;
    if (is_heading(line)) {
      close();
      text += fmt::format(".SH {}\n", plain(upper(line.substr(0, line.size() - 1))));
      continue;
    }
    if (!is_open && text.empty()) text += ".SH NOTES\n";
    if (!is_open) text += ".nf\n";
    is_open = true;
    text += plain(line) + "\n";
  }
  close();
  return text;
}

std::string see_also(const CommandFacts& command) {
  std::vector<std::string> pages;
  for (const CommandFacts& each : command.commands) pages.push_back(page_name(each));
  const std::string program = split(command.title, ' ').front();
  if (program != command.title) pages.push_back(program);
  pages.push_back(program == "linkgain" ? "linkgain-bench" : "linkgain");
  std::string text = ".SH SEE ALSO\n";
  for (const std::string& page : pages) {
    text += fmt::format(".BR {} (1){}\n", plain(page), page == pages.back() ? "" : ",");
  }
  return text;
}

std::string page_of(const CommandFacts& command) {
  const std::string version = split(build_info().version, '+').front();
  return fmt::format(".TH {} 1 \"\" \"linkgain {}\" \"linkgain\"\n",
                     plain(upper(page_name(command))), plain(version)) +
         fmt::format(".SH NAME\n{} \\- {}\n", plain(page_name(command)), plain(command.summary)) +
         synopsis(command) + arguments(command) + commands(command) + options(command) +
         footer(command) + see_also(command);
}

const FileKind kManualFile{"a manual page or a completion", [](std::string_view text) {
                             static constexpr std::array<std::string_view, 3> kBegins{
                                 ".TH LINKGAIN", "# Completion of linkgain", "#compdef linkgain"};
                             return std::ranges::any_of(kBegins, [&](std::string_view begin) {
                               return text.starts_with(begin);
                             });
                           }};

}  // namespace

void write_manual(const CLI::App& program, const WordsOf& words_of,
                  const std::filesystem::path& share) {
  const CommandFacts facts = facts_of(program, words_of);
  std::vector<std::pair<std::filesystem::path, std::string>> files{
      {share / "bash-completion" / "completions" / facts.name, bash_completion(facts)},
      {share / "zsh" / "site-functions" / ("_" + facts.name), zsh_completion(facts)},
      {share / "fish" / "vendor_completions.d" / (facts.name + ".fish"), fish_completion(facts)}};
  const auto add_page = [&](const CommandFacts& command) {
    files.emplace_back(share / "man" / "man1" / (page_name(command) + ".1"), page_of(command));
  };
  add_page(facts);
  for (const CommandFacts& command : facts.commands) add_page(command);
  for (const auto& [path, text] : files) require_own_file(path, kManualFile);
  for (const auto& [path, text] : files) {
    std::filesystem::create_directories(path.parent_path());
    write_own_file(path, kManualFile, text);
  }
}

}  // namespace linkgain

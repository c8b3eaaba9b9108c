#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "command_facts.hpp"
#include "linkgain/manual/manual.hpp"

namespace linkgain {
namespace {

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// A word of bash and zsh.
std::string shell_word(std::string_view text) {
  return "'" + replaced(std::string(text), "'", R"('\'')") + "'";
}

/// "linkgain-bench" as the name of a function.
std::string function_name(std::string name) {
  std::ranges::replace(name, '-', '_');
  return "_" + name;
}

std::vector<std::string> option_names(const CommandFacts& command) {
  std::vector<std::string> names;
  for (const ArgumentFacts& option : command.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

std::vector<std::string> command_names(const CommandFacts& program) {
  std::vector<std::string> names;
  for (const CommandFacts& command : program.commands) names.push_back(command.name);
  return names;
}

// bash: which words can stand behind the one before, else which options there are.

/// What completes a value; the functions are those of kBashBegin.
std::string bash_values(const ArgumentFacts& taken) {
  switch (taken.takes) {
    case Takes::files:
      return "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$current\")";
    case Takes::directories:
      return "compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$current\")";
    case Takes::words:
      return fmt::format("_linkgain_{} {}", taken.joins_words ? "list" : "words",
                         shell_word(fmt::format("{}", fmt::join(taken.words, " "))));
    case Takes::nothing:
    case Takes::text:
      break;
  }
  return ":";
}

std::string bash_cases(const CommandFacts& command) {
  std::string text;
  for (const ArgumentFacts& option : command.options) {
    if (option.takes == Takes::nothing) continue;
    std::vector<std::string> patterns;
    for (const std::string& name : option.names) patterns.push_back(command.name + ":" + name);
    text += fmt::format("    {}) {}; return ;;\n", fmt::join(patterns, " | "), bash_values(option));
  }
  return text;
}

std::string bash_words(const CommandFacts& command) {
  const std::string files =
      command.arguments.empty() ? ":" : bash_values(command.arguments.front());
  return fmt::format(
      "    {}:-*) _linkgain_words {} ;;\n"
      "    {}:*) {} ;;\n",
      command.name, shell_word(fmt::format("{}", fmt::join(option_names(command), " "))),
      command.name,
      command.commands.empty()
          ? files
          : fmt::format("_linkgain_words {}",
                        shell_word(fmt::format("{}", fmt::join(command_names(command), " ")))));
}

/// "--option=value" comes in three words.
constexpr std::string_view kBashBegin =
    R"(  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} command={0} word
  if [[ $current == = ]]; then
    current=
  elif [[ $before == = ]]; then
    before=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  _linkgain_words() {{ mapfile -t COMPREPLY < <(compgen -W "$1" -- "$current"); }}
  _linkgain_list() {{
    local done=
    [[ $current != *,* ]] || done=${{current%,*}},
    mapfile -t COMPREPLY < <(compgen -P "$done" -W "$1" -- "${{current##*,}}")
    compopt -o nospace
  }}
  COMPREPLY=()
)";

}  // namespace

std::string bash_completion(const CommandFacts& facts) {
  const std::string function = function_name(facts.name);
  std::string text = fmt::format("# Completion of {0} for bash.\n{1}() {{\n", facts.name, function);
  text += fmt::format(kBashBegin, facts.name);
  if (!facts.commands.empty()) {
    text += fmt::format(
        "  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD - 1}}\"; do\n"
        "    case $word in\n"
        "      {}) command=$word; break ;;\n"
        "    esac\n"
        "  done\n",
        fmt::join(command_names(facts), " | "));
  }
  text += "  case $command:$before in\n" + bash_cases(facts);
  for (const CommandFacts& command : facts.commands) text += bash_cases(command);
  text += "  esac\n  case $command:$current in\n" + bash_words(facts);
  for (const CommandFacts& command : facts.commands) text += bash_words(command);
  return text + fmt::format("  esac\n}}\ncomplete -F {} {}\n", function, facts.name);
}

// zsh: specifications of _arguments.

namespace {

/// Text within a specification's brackets or between its colons.
std::string zsh_text(std::string text) {
  for (const std::string_view each : {"\\", ":", "[", "]"}) {
    text = replaced(text, each, "\\" + std::string(each));
  }
  return text;
}

std::string zsh_action(const ArgumentFacts& taken) {
  switch (taken.takes) {
    case Takes::files:
      return "_files";
    case Takes::directories:
      return "_files -/";
    case Takes::words:
      return taken.joins_words ? fmt::format("_values -s , word {}", fmt::join(taken.words, " "))
                               : fmt::format("({})", fmt::join(taken.words, " "));
    case Takes::nothing:
    case Takes::text:
      break;
  }
  return " ";
}

std::string zsh_value(const ArgumentFacts& taken) {
  return fmt::format(":{}:{}", zsh_text(taken.value), zsh_action(taken));
}

/// All of a command's specifications, one a line.
std::string zsh_specifications(const CommandFacts& command, std::string_view indent) {
  std::string text;
  for (const ArgumentFacts& option : command.options) {
    const bool is_flag = option.takes == Takes::nothing;
    for (const std::string& name : option.names) {
      const std::string ending = is_flag ? "" : (name.starts_with("--") ? "=" : "+");
      text += fmt::format("{}{}{} \\\n", indent, option.repeats ? "'*'" : "",
                          shell_word(fmt::format("{}{}[{}]{}", name, ending, zsh_text(option.help),
                                                 is_flag ? "" : zsh_value(option))));
    }
  }
  int number = 0;
  for (const ArgumentFacts& argument : command.arguments) {
    ++number;
    const std::string place = argument.repeats ? "*" : fmt::format("{}", number);
    text += fmt::format(
        "{}{} \\\n", indent,
        shell_word(fmt::format("{}:{}:{}", place, argument.names.front(), zsh_action(argument))));
  }
  return text;
}

std::string zsh_commands(const CommandFacts& program) {
  std::string text =
      "    '1:command:->command' \\\n    '*::argument:->argument' && return\n"
      "  case $state in\n    command)\n      local -a commands=(\n";
  for (const CommandFacts& command : program.commands) {
    text += fmt::format("        {}\n", shell_word(command.name + ":" + zsh_text(command.summary)));
  }
  text += "      )\n      _describe command commands ;;\n    argument)\n      case $words[1] in\n";
  for (const CommandFacts& command : program.commands) {
    text += fmt::format("        {}) _arguments \\\n{}          && return ;;\n", command.name,
                        zsh_specifications(command, "          "));
  }
  return text + "      esac ;;\n  esac\n";
}

}  // namespace

std::string zsh_completion(const CommandFacts& facts) {
  const std::string function = function_name(facts.name);
  return fmt::format(
      "#compdef {0}\n{1}() {{\n  local state\n  _arguments -C \\\n{2}{3}}}\n{1} \"$@\"\n",
      facts.name, function, zsh_specifications(facts, "    "),
      facts.commands.empty() ? "    && return\n" : zsh_commands(facts));
}

// fish: a `complete` for each option.

namespace {

/// A word of fish.
std::string fish_word(std::string_view text) {
  return "'" + replaced(replaced(std::string(text), "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fish_values(const ArgumentFacts& taken) {
  switch (taken.takes) {
    case Takes::files:
      return " -r -F";
    case Takes::directories:
      return " -x -a '(__fish_complete_directories)'";
    case Takes::words: {
      const std::string words = fmt::format("{}", fmt::join(taken.words, " "));
      return taken.joins_words ? fmt::format(" -x -a '(__fish_append , {})'", words)
                               : fmt::format(" -x -a {}", fish_word(words));
    }
    case Takes::text:
      return " -x";
    case Takes::nothing:
      break;
  }
  return "";
}

std::string fish_options(const CommandFacts& command, const std::string& begin) {
  std::string text;
  for (const ArgumentFacts& option : command.options) {
    text += begin;
    for (const std::string& name : option.names) {
      text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    }
    text += fmt::format("{} -d {}\n", fish_values(option), fish_word(option.help));
  }
  if (command.arguments.empty()) text += begin + " -f\n";
  return text;
}

}  // namespace

std::string fish_completion(const CommandFacts& facts) {
  const std::string begin = "complete -c " + facts.name;
  std::string text = fmt::format("# Completion of {} for fish.\n", facts.name);
  if (facts.commands.empty()) return text + fish_options(facts, begin);
  const std::string no_command = begin + " -n __fish_use_subcommand";
  for (const CommandFacts& command : facts.commands) {
    text +=
        fmt::format("{} -f -a {} -d {}\n", no_command, command.name, fish_word(command.summary));
  }
  text += fish_options(facts, no_command);
  for (const CommandFacts& command : facts.commands) {
    text += fish_options(
        command, fmt::format("{} -n '__fish_seen_subcommand_from {}'", begin, command.name));
  }
  return text;
}

}  // namespace linkgain

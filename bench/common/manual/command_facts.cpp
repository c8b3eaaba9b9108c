#include "command_facts.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace linkgain {
namespace {

using WordsOf = std::function<std::vector<std::string>(const CLI::Option& option)>;

Takes taken_by(const std::string& value) {
  if (value.empty()) return Takes::nothing;
  if (value == "DIR") return Takes::directories;
  return value == "FILE" || value == "RECORD" ? Takes::files : Takes::text;
}

ArgumentFacts facts_of(const CLI::Option& option, const WordsOf& words_of) {
  ArgumentFacts facts;
  if (option.get_positional()) {
    facts.names.push_back(option.get_name());
  } else {
    for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  }
  const bool is_flag = option.get_items_expected_max() == 0;
  facts.value = option.get_type_name();
  facts.help = option.get_description();
  if (!option.get_default_str().empty())
    facts.help += fmt::format(" (default: {})", option.get_default_str());
  facts.group = option.get_group();
  facts.words = words_of(option);
  facts.takes = facts.words.empty() ? taken_by(is_flag ? "" : facts.value) : Takes::words;
  facts.joins_words = option.get_delimiter() == ',';
  facts.repeats = option.get_items_expected_max() > 1;
  facts.is_required = option.get_required();
  return facts;
}

}  // namespace

CommandFacts facts_of(const CLI::App& app, const WordsOf& words_of) {
  CommandFacts facts;
  facts.name = app.get_name();
  facts.title =
      app.get_parent() == nullptr ? facts.name : app.get_parent()->get_name() + " " + facts.name;
  facts.summary = app.get_description();
  facts.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    auto& place = option->get_positional() ? facts.arguments : facts.options;
    place.push_back(facts_of(*option, words_of));
  }
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (!command->get_group().empty()) facts.commands.push_back(facts_of(*command, words_of));
  }
  return facts;
}

std::string page_name(const CommandFacts& command) {
  std::string name = command.title;
  std::ranges::replace(name, ' ', '-');
  return name;
}

}  // namespace linkgain

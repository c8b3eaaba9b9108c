#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace linkgain {

/// What may be written behind an option, or as an argument.
enum class Takes { nothing, text, words, files, directories };

struct ArgumentFacts {
  std::vector<std::string> names;  ///< "-o", "--output"; an argument's own name
  std::string value;  ///< what the help calls the value, "OP,..."; "[=NAME]", or none, of a flag
  std::string help;
  std::string group;
  Takes takes = Takes::nothing;
  std::vector<std::string> words;  ///< those that can be meant, if few can
  bool joins_words = false;        ///< several words, commas between them
  bool repeats = false;
  bool is_required = false;
};

struct CommandFacts {
  std::string name;   ///< "run"
  std::string title;  ///< "linkgain run"
  std::string summary;
  std::string footer;
  std::vector<ArgumentFacts> options;
  std::vector<ArgumentFacts> arguments;
  std::vector<CommandFacts> commands;
};

/// What was declared, but for hidden options and commands, in the order of the help. `words_of`
/// names the words that an option's value can be; none, if there are too many.
CommandFacts facts_of(
    const CLI::App& app,
    const std::function<std::vector<std::string>(const CLI::Option& option)>& words_of);

/// What the shell reads to complete the program's command lines.
std::string bash_completion(const CommandFacts& facts);
std::string zsh_completion(const CommandFacts& facts);
std::string fish_completion(const CommandFacts& facts);

/// "linkgain-run": what the page of a command is called.
std::string page_name(const CommandFacts& command);

}  // namespace linkgain

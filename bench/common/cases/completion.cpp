#include "linkgain/cases/completion.hpp"

#include <CLI/App.hpp>
#include <algorithm>
#include <array>

#include "linkgain/base/data_type.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/backend.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/cases/help_text.hpp"
#include "linkgain/cases/operation.hpp"
#include "linkgain/cases/profiles.hpp"
#include "linkgain/cases/selection.hpp"
#include "linkgain/gpt2/training_parameters.hpp"

namespace linkgain {
namespace {

/// Collects the lines that begin with what was typed.
class Lines {
 public:
  explicit Lines(std::string typed) : typed_(std::move(typed)) {}

  void add(const std::string& word, const std::string& help = "") {
    if (word.starts_with(typed_)) text_ += word + (help.empty() ? "" : "\t" + help) + "\n";
  }
  void add_kind(std::string_view kind) { text_ += ":" + std::string(kind) + "\n"; }
  const std::string& text() const { return text_; }

 private:
  std::string typed_;
  std::string text_;
};

/// Finds the command that the words call, the program itself where they call none.
const CLI::App& called_by(const CLI::App& program, const std::vector<std::string>& words) {
  const std::vector<const CLI::App*> commands = program.get_subcommands(nullptr);
  for (const std::string& word : words) {
    const auto command = std::ranges::find(commands, word, &CLI::App::get_name);
    if (command != commands.end()) return **command;
  }
  return program;
}

/// Finds the option of this name that takes the next word for its value.
const CLI::Option* taking_next_word(const CLI::App& command, const std::string& name) {
  const CLI::Option* const option =
      name.starts_with('-') ? command.get_option_no_throw(name) : nullptr;
  const bool takes = option != nullptr && option->get_type_size() != 0 &&
                     !option->get_type_name().starts_with('[');
  return takes ? option : nullptr;
}

std::string values(const CLI::Option& option, const std::string& typed, const WordsOf& words_of) {
  Lines lines(typed);
  const std::size_t comma = option.get_delimiter() == ',' ? typed.rfind(',') : std::string::npos;
  const std::string before = comma == std::string::npos ? "" : typed.substr(0, comma + 1);
  for (const std::string& word : words_of(option)) lines.add(before + word);
  const std::string kind = option.get_type_name();
  if (kind == "DIR") lines.add_kind("folders");
  if (kind == "FILE" || kind == "RECORD" || typed.find('/') != std::string::npos)
    lines.add_kind("files");
  return lines.text();
}

std::string options(const CLI::App& command, const std::string& typed) {
  Lines lines(typed);
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional() || option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) {
      lines.add("--" + name, option->get_description());
    }
    for (const std::string& name : option->get_snames()) {
      lines.add("-" + name, option->get_description());
    }
  }
  return lines.text();
}

std::string commands(const CLI::App& program, const std::string& typed) {
  Lines lines(typed);
  for (const CLI::App* command : program.get_subcommands(nullptr)) {
    lines.add(command->get_name(), summary_of(*command));
  }
  return lines.text();
}

struct OptionWords {
  std::string_view option;
  std::string_view value;
  std::vector<std::string_view> words;
};

const std::vector<OptionWords>& table() {
  using enum TrainingStrategy;
  static constexpr std::array kStrategies{ddp, zero2, zero3};  // none is measured with each
  static const std::vector<OptionWords> rows{
      {"--only", "OP,...", names_of(kOperations)},
      {"--profile", "NAME", names_of(kValues<Profile>)},
      {"--backend", "NAME", names_of(kBackends)},
      {"--type", "TYPE,...", names_of(kValues<DataType>)},
      {"--reduction", "RED,...", names_of(kValues<Reduction>)},
      {"--buffers", "KIND,...", names_of(kValues<Buffers>)},
      {"--launch-mode", "MODE,...", names_of(kValues<LaunchChoice>)},
      {"--pattern", "PATTERN,...", names_of(kValues<Pattern>)},
      {"--model-size", "SIZE,...", names_of(kValues<ModelSize>)},
      {"--strategy", "NAME,...", names_of(kStrategies)},
      {"--training-precision", "NAME,...", names_of(kValues<TrainingPrecision>)},
      {"--buckets", "RULE", names_of(kValues<BucketRule>)},
      {"--schedule", "HOW", names_of(kValues<Schedule>)},
      {"--launcher", "PROGRAM", {"local", "mpirun", "srun"}},
      {"--format", "TEXT", {"nccl-tests"}},
      {"--prove", "STEP", {"stores", "copy-engine", "flags", "all-reduce", "control"}},
  };
  return rows;
}

}  // namespace

std::string completions(const CLI::App& program, std::vector<std::string> words,
                        const WordsOf& words_of) {
  if (words.empty()) words.emplace_back();
  const std::string typed = words.back();
  words.pop_back();
  const CLI::App& command = called_by(program, words);
  if (!words.empty()) {
    const CLI::Option* const option = taking_next_word(command, words.back());
    if (option != nullptr) return values(*option, typed, words_of);
  }
  const std::size_t equals = typed.find('=');
  if (typed.starts_with("--") && equals != std::string::npos) {
    const CLI::Option* const option = command.get_option_no_throw(typed.substr(0, equals));
    return option == nullptr ? "" : values(*option, typed.substr(equals + 1), words_of);
  }
  if (typed.starts_with('-')) return options(command, typed);
  if (&command == &program) return commands(program, typed);
  const std::vector<const CLI::Option*> arguments =
      command.get_options([](const CLI::Option* option) { return option->get_positional(); });
  return arguments.empty() ? "" : values(*arguments.front(), typed, words_of);
}

std::vector<std::string_view> words_of_option(std::string_view option, std::string_view value) {
  const auto row = std::ranges::find_if(table(), [=](const OptionWords& each) {
    return each.option == option && each.value == value;
  });
  return row == table().end() ? std::vector<std::string_view>{} : row->words;
}

std::vector<std::string> words_of_declared(const CLI::Option& option) {
  const std::vector<std::string>& names = option.get_lnames();
  const auto words =
      words_of_option(names.empty() ? "" : "--" + names.front(), option.get_type_name());
  return {words.begin(), words.end()};
}

}  // namespace linkgain

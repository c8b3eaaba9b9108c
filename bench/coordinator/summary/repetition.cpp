#include "linkgain/summary/repetition.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/analysis/variant_environment.hpp"
#include "linkgain/tables/escaping.hpp"
#include "linkgain/tables/text_lines.hpp"

namespace linkgain {
namespace {

/// Options of `linkgain run` by their names in older records, and today's.
constexpr std::array kRenamed{std::pair{"--launch", "--launch-mode"},
                              std::pair{"--precision", "--ci-width"},
                              std::pair{"--deadline", "--timeout"}};

/// Options that say where results go and how they are shown, which is the reader's own choice, and
/// whether a value follows.
constexpr std::array kOfOutput{std::pair{"--out", true},       std::pair{"--label", true},
                               std::pair{"--quiet", false},    std::pair{"--json", false},
                               std::pair{"--no-color", false}, std::pair{"--show-output", false}};

/// Tells whether a word is this option, alone or with its value behind '='.
bool is_option(std::string_view word, std::string_view option) {
  return word.substr(0, word.find('=')) == option;
}

std::string with_todays_name(const std::string& word) {
  for (const auto& [old_name, name] : kRenamed) {
    if (is_option(word, old_name)) return name + word.substr(std::string_view(old_name).size());
  }
  return word;
}

/// Counts the words of the option that begins here and is of output; 0 where it is another.
std::ptrdiff_t words_of_output(const std::string& word) {
  const auto found = std::ranges::find_if(
      kOfOutput, [&](const auto& each) { return is_option(word, each.first); });
  if (found == kOfOutput.end()) return 0;
  return found->second && word == found->first ? 2 : 1;
}

}  // namespace

std::string assignments(const Environment& environment) {
  std::vector<std::string> words;
  for (const auto& [name, value] : environment) {
    words.push_back(fmt::format("{}={}", one_line(name), shown_word(value)));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

std::string measured_command(const Record& record) {
  const std::vector<std::string>& argv = record.settings.argv;
  const auto preset = std::ranges::find(argv, "--preset");
  const bool has_own_client = std::ranges::find(argv, "--") == argv.end();
  return shown_command(has_own_client && argv.end() - preset > 2
                           ? std::vector<std::string>(preset + 1, preset + 3)
                           : record.settings.program->command);
}

std::string repetition(const Record& record) {
  const Settings& settings = record.settings;
  std::vector<std::string> words{"linkgain"};
  const auto command = std::ranges::find(settings.argv, "--");
  for (auto word = settings.argv.begin() + 1; word < command;) {
    const std::ptrdiff_t left_out = std::min(words_of_output(*word), command - word);
    if (left_out == 0) words.push_back(with_todays_name(*word));
    word += std::max<std::ptrdiff_t>(left_out, 1);
  }
  const auto add = [&](const char* option, const std::string& value, const std::string& usual) {
    const bool is_given = std::ranges::any_of(
        words, [&](const std::string& word) { return is_option(word, option); });
    if (!is_given && value != usual) words.insert(words.end(), {option, value});
  };
  if (!settings.program) {
    add("--backend", std::string(name_of(settings.backend)), "nccl");
    add("--profile", settings.profile, "default");
    add("--schedule", std::string(name_of(settings.schedule)), "paired");
    // Other profiles have a number of their own.
    const bool is_default = settings.profile == "default";
    add("--launches", std::to_string(settings.launches), is_default ? "6" : "");
  }
  words.insert(words.end(), command, settings.argv.end());
  Environment set;
  for (std::size_t i = 0; i < settings.variants.size(); ++i) {
    set.merge(inherited_variables(record, i));
    const char* const library = "LINKGAIN_NCCL";
    if (const std::string file = inherited(record, i, library); !file.empty()) set[library] = file;
  }
  return set.empty() ? shown_command(words) : assignments(set) + " " + shown_command(words);
}

}  // namespace linkgain

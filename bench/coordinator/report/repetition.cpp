#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/record/variants.hpp"
#include "linkgain/report/report.hpp"
#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

/// Options of `linkgain run` by their names in older records, and today's.
constexpr std::array kRenamed{std::pair{"--launch", "--launch-mode"},
                              std::pair{"--precision", "--ci-width"},
                              std::pair{"--deadline", "--timeout"}};

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

/// Names the variants where they are the default; others that no option names are in a file.
std::vector<std::string> default_names(const Settings& settings) {
  const auto same = [](const Variant& variant, const Variant& usual) {
    return variant.name == usual.name && variant.nccl.empty() && variant.worker.empty();
  };
  std::vector<std::string> names;
  if (!std::ranges::equal(settings.variants, default_variants({settings.backend}), same)) {
    return names;
  }
  for (const Variant& variant : settings.variants) names.push_back(variant.name);
  return names;
}

}  // namespace

// Adds what was in force by default, and may be another default elsewhere.
std::string repetition(const Settings& settings, std::size_t ranks) {
  if (settings.program) return shown_command(settings.argv);
  std::vector<std::string> words;
  std::ranges::transform(settings.argv, std::back_inserter(words), with_todays_name);
  const auto is_given = [given = words](std::initializer_list<std::string_view> options) {
    return std::ranges::any_of(given, [&](const std::string& word) {
      return std::ranges::any_of(options, [&](auto option) { return is_option(word, option); });
    });
  };
  const auto add = [&](const std::string& option, const std::string& value) {
    if (!value.empty() && !is_given({option})) words.insert(words.end(), {option, value});
  };
  add("--backend", std::string(name_of(settings.backend)));
  add("--profile", settings.profile);
  add("--schedule", std::string(name_of(settings.schedule)));
  add("--launches", std::to_string(settings.launches));
  add("--budget", settings.budget ? fmt::format("{:g}", settings.budget->value) : "");
  if (ranks > 0 && !is_given({"--gpus", "--launcher", "--hostfile"})) {
    add("--np", std::to_string(ranks));
  }
  for (const std::string& name : default_names(settings)) add("--variant", name);
  return shown_command(words);
}

}  // namespace linkgain

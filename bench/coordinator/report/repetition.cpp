#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "linkgain/report/report.hpp"
#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

std::string shell_line(std::vector<std::string> words) {
  std::ranges::transform(words, words.begin(), shell_quoted);
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

// With what was in force by default, and may be another default elsewhere.
std::string repetition(const Settings& settings) {
  if (settings.program) return shell_line(settings.argv);
  const std::string budget = settings.budget ? fmt::format("{:g}", settings.budget->value) : "";
  std::vector<std::string> words = settings.argv;
  for (const auto& [option, value] :
       {std::pair("--backend", std::string(name_of(settings.backend))),
        std::pair("--profile", settings.profile),
        std::pair("--schedule", std::string(name_of(settings.schedule))),
        std::pair("--launches", std::to_string(settings.launches)),
        std::pair("--budget", budget)}) {
    const bool given =
        std::ranges::any_of(settings.argv, [&, name = std::string(option)](auto& word) {
          return word == name || word.starts_with(name + "=");
        });
    if (!given && !value.empty()) words.insert(words.end(), {option, value});
  }
  return shell_line(words);
}

}  // namespace linkgain

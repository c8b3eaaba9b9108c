#include "linkgain/cases/option_words.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "linkgain/base/data_type.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/cases/case_order.hpp"
#include "linkgain/cases/operation.hpp"
#include "linkgain/cases/profiles.hpp"
#include "linkgain/gpt2/training_case.hpp"

namespace linkgain {
namespace {

struct OptionWords {
  std::string_view option;
  std::string_view value;
  std::vector<std::string> words;
};

template <typename Values>
std::vector<std::string> names_of(const Values& values) {
  std::vector<std::string> names;
  for (const auto& value : values) names.emplace_back(name_of(value));
  return names;
}

const std::vector<OptionWords>& table() {
  static const std::vector<OptionWords> rows{
      {"--only", "OP,...", names_of(kOperations)},
      {"--profile", "NAME", names_of(kProfiles)},
      {"--backend", "NAME", {"nccl", "mpi"}},
      {"--type", "TYPE,...", names_of(kDataTypes)},
      {"--reduction", "RED,...", names_of(kReductions)},
      {"--buffers", "KIND,...", names_of(kBuffers)},
      {"--launch-mode", "MODE,...", {"auto", "stream", "graph"}},
      {"--pattern", "PATTERN,...", {"ring", "one-way", "both-ways"}},
      {"--model-size", "SIZE,...", names_of(kModelSizes)},
      {"--strategy", "NAME,...", {"ddp", "zero2", "zero3"}},
      {"--training-precision", "NAME,...", names_of(kTrainingPrecisions)},
      {"--buckets", "RULE", names_of(kBucketRules)},
      {"--schedule", "HOW", names_of(kSchedules)},
      {"--launcher", "PROGRAM", {"mpirun", "srun"}},
      {"--metric", "METRIC", {"time", "busbw", "algbw"}},
      {"--format", "FORMAT", {"table", "md", "csv", "json", "html"}},
      {"--format",
       "REPORT",
       {"table", "md", "csv", "json", "card", "google-benchmark", "nccl-tests", "nccl-tests-json",
        "html"}},
      {"--format", "TEXT", {"nccl-tests"}},
  };
  return rows;
}

}  // namespace

std::vector<std::string> words_of_option(std::string_view option, std::string_view value) {
  const auto row = std::ranges::find_if(table(), [=](const OptionWords& each) {
    return each.option == option && each.value == value;
  });
  return row == table().end() ? std::vector<std::string>{} : row->words;
}

std::size_t place_of_word(std::string_view word, std::string_view option, std::string_view value) {
  const std::vector<std::string> words = words_of_option(option, value);
  const auto found = std::ranges::find(words, word);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  const std::vector<std::string_view> names(words.begin(), words.end());
  throw UsageError(unknown_name(option.substr(option.find_first_not_of('-')), word, names));
}

std::vector<std::string> words_of_declared(const CLI::Option& option) {
  const std::vector<std::string>& names = option.get_lnames();
  return words_of_option(names.empty() ? "" : "--" + names.front(), option.get_type_name());
}

}  // namespace linkgain

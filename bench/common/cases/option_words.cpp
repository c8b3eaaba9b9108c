#include "linkgain/cases/option_words.hpp"

#include <CLI/App.hpp>
#include <algorithm>
#include <array>

#include "linkgain/base/data_type.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/cases/backend.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/cases/operation.hpp"
#include "linkgain/cases/profiles.hpp"
#include "linkgain/cases/schedule.hpp"
#include "linkgain/cases/selection.hpp"
#include "linkgain/gpt2/training_case.hpp"

namespace linkgain {
namespace {

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
      {"--profile", "NAME", names_of(kProfiles)},
      {"--backend", "NAME", names_of(kBackends)},
      {"--type", "TYPE,...", names_of(kDataTypes)},
      {"--reduction", "RED,...", names_of(kReductions)},
      {"--buffers", "KIND,...", names_of(kBuffers)},
      {"--launch-mode", "MODE,...", names_of(kLaunchChoices)},
      {"--pattern", "PATTERN,...", names_of(kPatterns)},
      {"--model-size", "SIZE,...", names_of(kModelSizes)},
      {"--strategy", "NAME,...", names_of(kStrategies)},
      {"--training-precision", "NAME,...", names_of(kTrainingPrecisions)},
      {"--buckets", "RULE", names_of(kBucketRules)},
      {"--schedule", "HOW", names_of(kSchedules)},
      {"--launcher", "PROGRAM", {"mpirun", "srun"}},
      {"--format", "TEXT", {"nccl-tests"}},
      {"--prove", "RUNG", {"stores", "copy-engine", "flags", "all-reduce", "control"}},
  };
  return rows;
}

}  // namespace

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

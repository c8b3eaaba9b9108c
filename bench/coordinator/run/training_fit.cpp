#include "training_fit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/gpt2/training_strategy.hpp"

namespace linkgain {
namespace {

bool is_asked_for(const RunOptions& options, TrainingStrategy strategy) {
  return std::ranges::count(options.training.strategies, strategy) > 0;
}

}  // namespace

void fit_ranks(const RunOptions& options, RunPlan& plan) {
  using Reason = std::pair<std::string, std::string>;  // text and advice
  std::map<Reason, std::vector<std::string>> left_out;
  std::erase_if(plan.cases, [&](const Case& c) {
    if (!c.training) return false;
    try {
      require_equal_shards(*c.training, c.ranks);
    } catch (const UsageError& error) {
      if (is_asked_for(options, c.training->strategy)) throw;
      left_out[{error.what(), error.advice()}].push_back(case_name(c));
      return true;
    }
    return false;
  });
  for (const auto& [reason, names] : left_out) {
    plan.warnings.push_back(
        {"left-out", fmt::format("left out, because {}: {}", reason.first, fmt::join(names, ", ")),
         reason.second});
  }
}

}  // namespace linkgain

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "exec_verdicts.hpp"
#include "linkgain/analysis/judgement.hpp"
#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/cases/case_label.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/tables/number_format.hpp"

namespace linkgain {
namespace {

/// Warns of a variable of the caller's that takes P2P from the variant that should have it.
void warn_of_inherited(Record& record) {
  const Settings& settings = record.settings;
  for (std::size_t i = 0; i < settings.variants.size(); ++i) {
    const Variant& variant = settings.variants[i];
    for (const auto& [name, value] : settings.environment_in_force[i]) {
      if (variant.environment.contains(name) || !forbids_p2p(name, value)) continue;
      record.warnings.push_back(
          {name_of(WarningCode::p2p_forbidden),
           fmt::format("{} ran with {}={} of your environment, which forbids P2P", variant.name,
                       name, value),
           fmt::format("unset {} and run again", name)});
    }
  }
}

/// Tells whether printed digits, not runs, make the ratio's interval so wide that it is not what
/// was asked for, or that it does not tell whether there is a difference.
bool is_of_few_digits(const Record& record, const CaseResult& result, const RatioResult& each) {
  const std::optional<double> width = relative_half_width(each.ratio);
  constexpr double kDecides = 0.99;
  const double rounding = rounding_of(result, each.variant);
  if (!width || rounding < kDecides * *width) return false;
  return *width > precision_of(record.settings, result.definition) ||
         (each.ratio.interval->holds(1.0) && !is_one(each.ratio.value));
}

void warn_of_few_digits(Record& record) {
  for (const CaseResult& result : record.cases) {
    for (const RatioResult& each : result.ratios) {
      if (!is_of_few_digits(record, result, each)) continue;
      record.warnings.push_back(warning_of(
          WarningCode::few_digits,
          fmt::format("{} is printed in steps of {} of its value: a difference that is not larger "
                      "is inconclusive, however many runs there are",
                      result.definition.metric->name,
                      percent_of_digits(rounding_of(result, each.variant)))));
      break;
    }
  }
}

/// Counts the orders of so many runs of two variants.
double orders_of(std::size_t own, std::size_t other) {
  double orders = 1.0;
  for (std::size_t i = 1; i <= other; ++i) {
    orders *= static_cast<double>(own + i) / static_cast<double>(i);
  }
  return orders;
}

/// Warns where two orders of few put all that is slowed into one variant. An interval of 95 % is of
/// runs that do not depend on each other; where these are more than 5 % of all orders, something
/// periodic may be what it shows.
void warn_of_few_runs(Record& record) {
  constexpr double kEnough = 40.0;
  for (const CaseResult& result : record.cases) {
    const std::size_t own = launch_medians(result, 0).size();
    for (std::size_t i = 1; i < result.variants.size(); ++i) {
      if (!is_change(judge_variants(record, result, i).verdict)) continue;
      const double orders = orders_of(own, launch_medians(result, i).size());
      if (orders >= kEnough) continue;
      record.warnings.push_back(warning_of(
          WarningCode::few_runs,
          fmt::format("{} runs: something on this machine that slows half of them slows one "
                      "variant alone in 1 of {:.0f} cases",
                      own + launch_medians(result, i).size(), orders / 2.0)));
      return;
    }
  }
}

/// Matches, or steps, of a variant in a run; absent where it has none.
std::optional<double> matches_in_a_run(const CaseResult& result, std::size_t variant) {
  std::set<int> runs;
  double matches = 0.0;
  for (const Sample& sample : result.samples) {
    if (sample.variant != static_cast<int>(variant)) continue;
    runs.insert(sample.launch);
    matches += static_cast<double>(sample.operations);
  }
  return runs.empty() ? std::nullopt : std::optional(matches / static_cast<double>(runs.size()));
}

/// Warns where variants matched unequally often: sums and medians are of other work then.
void warn_of_matches(Record& record) {
  constexpr double kAllowed = 0.01;
  for (const CaseResult& result : record.cases) {
    const std::optional<double> first = matches_in_a_run(result, 0);
    for (std::size_t i = 1; i < result.variants.size(); ++i) {
      const std::optional<double> other = matches_in_a_run(result, i);
      if (!first || !other) continue;
      if (std::abs(*first - *other) <= kAllowed * std::max(*first, *other)) continue;
      record.warnings.push_back(warning_of(
          WarningCode::matches_differ,
          fmt::format("{} matched {} times in a run with {} and {} times with {}, on average",
                      result.definition.metric->name, readable_number(*first),
                      result.variants[0].variant, readable_number(*other),
                      result.variants[i].variant)));
    }
  }
}

void warn_of_wide_intervals(Record& record) {
  std::vector<std::string> wide;
  bool time = false;
  for (const CaseResult& result : record.cases) {
    const std::optional<Remedy> remedy = remedy_for(result);
    // Numbers that agree to the last digit have no interval, however many there are.
    const bool has_interval = std::ranges::any_of(
        result.ratios, [](const RatioResult& each) { return each.ratio.interval.has_value(); });
    const bool one_run = std::ranges::any_of(
        result.ratios, [](const RatioResult& each) { return each.ratio.replicates < 2; });
    if (std::ranges::any_of(result.ratios, [&](const RatioResult& each) {
          return is_of_few_digits(record, result, each);
        })) {
      continue;
    }
    if (!remedy || !decides_rounds(record, result.definition)) continue;
    if (!has_interval && !one_run) continue;
    time = time || *remedy == Remedy::time;
    wide.push_back(case_label(result.definition));
  }
  if (wide.empty()) return;
  const double asked = precision_of(record.settings, record.cases.front().definition);
  record.warnings.push_back(
      {name_of(WarningCode::not_converged),
       fmt::format("the interval is wider than ±{} of the ratio for {}", percent_of_digits(asked),
                   fmt::join(wide, ", ")),
       time ? "give more time with --budget" : "ask for more runs with --rounds"});
}

}  // namespace

bool is_start_up(const Case& definition) {
  return definition.metric->name == ProgramMetric::kStartUp;
}

bool decides_rounds(const Record& record, const Case& definition) {
  if (is_start_up(definition)) return false;
  return !is_always_measured(*definition.metric) ||
         std::ranges::all_of(record.cases, [](const CaseResult& each) {
           return is_always_measured(*each.definition.metric);
         });
}

void warn_of_runs(Record& record) {
  warn_of_inherited(record);
  warn_of_few_runs(record);
  warn_of_matches(record);
  warn_of_few_digits(record);
  warn_of_wide_intervals(record);
}

}  // namespace linkgain

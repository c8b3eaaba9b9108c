#include "linkgain/tuning/tuning_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "support/launch_records.hpp"
#include "support/sample_records.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
/// By setting, the share of the default's time that it takes at 1, 2, 4, 8 and 16 MiB.
using Shares = std::map<std::string, std::vector<double>>;

struct Race {
  Shares choice;                           ///< while launches choose
  Shares fresh{};                          ///< of those that confirm, where not the same
  std::map<std::string, Variant> named{};  ///< what the settings set
  int launches = 10;                       ///< until the run ended
};

double share_of(const Race& race, const std::string& name, std::size_t size, bool is_fresh) {
  const Shares& shares = is_fresh && race.fresh.contains(name) ? race.fresh : race.choice;
  return shares.at(name)[size];
}

/// Makes a race of 2, 2 and 6 launches that differ by a few per mille.
Record race_record(const Race& race) {
  Record record = two_gpus();
  record.settings.argv = {"linkgain", "run", "--tune"};
  record.settings.race.emplace();
  record.settings.launches = record.settings.race->launches();
  record.settings.variants = {{"default", {}}};
  record.settings.environment_in_force.clear();
  for (const auto& [name, shares] : race.choice) {
    const auto set = race.named.find(name);
    record.settings.variants.push_back(
        set != race.named.end() ? set->second : Variant{name, {{"NCCL_PROTO", "LL128"}}});
    record.settings.variants.back().name = name;
  }
  for (std::size_t size = 0; size < 5; ++size) {
    Case definition = all_reduce(kMiB << size);
    definition.launch = LaunchMode::graph;
    CaseResult& result = record.cases.emplace_back();
    result.definition = definition;
    result.stopped = StopReason::converged;
    for (std::size_t i = 0; i < record.settings.variants.size(); ++i) {
      const std::string& name = record.settings.variants[i].name;
      VariantResult& variant = result.variants.emplace_back();
      variant.variant = name;
      variant.path = Path::nvlink;
      variant.evidence = known_evidence(definition);
      variant.evidence->plan = {"RING", i == 0 ? "SIMPLE" : "LL128"};
      for (int launch = 0; launch < race.launches; ++launch) {
        const double scatter = 1.0 + 0.002 * std::sin(7.0 * launch + 3.0 * static_cast<double>(i));
        const double share = i == 0 ? 1.0 : share_of(race, name, size, launch >= 4);
        add_samples(result, static_cast<int>(i), launch,
                    1e-5 * std::ldexp(1.0, static_cast<int>(size)) * share * scatter);
      }
    }
  }
  summarise(record);
  return record;
}

std::string told(const Race& race) {
  const Record record = race_record(race);
  const RunSummary summary(record);
  return fmt::format("{}", fmt::join(tuning_sentences(summary), " ")) + "\n\n" +
         to_markdown(tuning_section(summary)) + "\n" + tuner_file(summary);
}

TEST(TuningReport, SaysWhatToSetAndWhereItCostsOrThatThereIsNothingToGain) {
  const std::vector<double> same(5, 1.0);
  const std::vector<double> middle{1.2, 0.85, 0.92, 1.1, 1.5};
  const std::vector<double> all(5, 0.7);
  Situations texts;
  texts.add("faster at two sizes, slower at others", told({{{"ll128", middle}, {"ring", same}}}));
  texts.add("faster at one size alone", told({{{"ll128", {1.0, 1.0, 0.9, 1.0, 1.0}}}}));
  texts.add("faster at all sizes without a variable of the user's",
            told({.choice = {{"unset", all}},
                  .named = {{"unset", {.name = "", .environment = {}, .unset = {"NCCL_PROTO"}}}}}));
  texts.add("two settings, of which the plugin knows one",
            told({.choice = {{"ll128", middle}, {"min-ctas-32", {1.0, 1.0, 1.0, 1.0, 0.9}}},
                  .named = {{"min-ctas-32", {"", {{"NCCL_MIN_CTAS", "32"}}}}}}));
  texts.add("a variable whose value has blanks",
            told({.choice = {{"thresholds", {0.9, 1.0, 1.0, 1.0, 1.0}}},
                  .named = {{"thresholds", {"", {{"NCCL_THREAD_THRESHOLDS", "4 4 32"}}}}}}));
  texts.add("the same", told({{{"ll128", same}, {"ring", same}}}));
  texts.add("faster while it was chosen alone", told({{{"ll128", middle}}, {{"ll128", same}}}));
  texts.add("ended before anything was confirmed", told({{{"ll128", middle}}, {}, {}, 4}));
  texts.expect_golden("tuning.md");
}

TEST(TuningReport, HasTablesOfTheLaunchesThatConfirmAlone) {
  const std::vector<double> chosen(5, 0.5);
  const std::vector<double> fresh(5, 0.8);
  const Record record = race_record({{{"ll128", chosen}, {"ring", std::vector<double>(5, 1.0)}},
                                     {{"ll128", fresh}, {"ring", chosen}}});
  const RunSummary summary(record);
  ASSERT_EQ(summary.cases.front().variants.size(), 2U);
  EXPECT_NEAR(summary.cases.front().comparisons.front().ratio->value, 0.8, 0.002);
  EXPECT_EQ(summary.cases.front().comparisons.front().ratio->replicates, 6);
}

}  // namespace
}  // namespace linkgain::test

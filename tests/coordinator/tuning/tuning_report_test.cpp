#include "linkgain/tuning/tuning_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "linkgain/record/warning.hpp"
#include "support/race_records.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

std::string told(const Race& race, const std::vector<Warning>& warnings = {}) {
  Record record = race_record(race);
  record.warnings = warnings;
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
  texts.add("faster on a disturbed machine",
            told({{{"ll128", middle}}}, {warning_of(WarningCode::host_load, "of others")}));
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

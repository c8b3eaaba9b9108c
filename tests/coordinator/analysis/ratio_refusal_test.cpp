#include "linkgain/analysis/ratio_refusal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "linkgain/analysis/launch_statistics.hpp"
#include "support/launch_records.hpp"
#include "support/sample_records.hpp"

namespace linkgain::test {
namespace {

/// What came of the runs of two variants; a run that failed has no time.
struct Runs {
  std::vector<double> first;
  std::vector<double> other;
  int failed = 0;   ///< more of the other
  int lacking = 0;  ///< more of the other that ended without a number
};

Record program_of(const Runs& runs) {
  Case definition;
  definition.metric = ProgramMetric{.name = "loss"};
  Record record = run_of({{definition, "a", runs.first}, {definition, "b", runs.other}});
  const auto add = [&](const std::string& variant, std::size_t count, const std::string& failure) {
    for (std::size_t i = 0; i < count; ++i) {
      record.runs.push_back({.variant = variant, .failure = failure});
    }
  };
  add("a", runs.first.size(), "");
  add("b", runs.other.size() + static_cast<std::size_t>(runs.lacking), "");
  add("b", static_cast<std::size_t>(runs.failed), "lost");
  record.runs.push_back({.variant = "a", .warm_up = true, .failure = "lost"});
  summarise(record);
  return record;
}

TEST(RatioRefusal, KnowsWhichRunsOfAProgramCompareNothing) {
  using enum RatioRefusal;
  struct Row {
    const char* what;
    Runs runs;
    std::optional<RatioRefusal> refusal;
  };
  for (const Row& row : {Row{"two runs each", {{1.0, 1.1}, {2.0, 2.1}}, {}},
                         {"one run each", {{1.0}, {2.0}}, too_few_runs},
                         {"one run of one", {{1.0, 1.1, 1.2}, {2.0}}, too_few_runs},
                         {"two runs that agree", {{1.0, 1.0}, {2.0, 2.0}}, too_few_runs},
                         {"three runs that agree", {{1.0, 1.0, 1.0}, {2.0, 2.0, 2.0}}, {}},
                         {"a run failed", {{1.0, 1.1}, {2.0, 2.1}, 1, 0}, lost_runs},
                         {"a run gave no number", {{1.0, 1.1}, {2.0, 2.1}, 0, 1}, lost_runs},
                         {"no run gave one", {{1.0, 1.1}, {}, 0, 2}, not_measured}}) {
    const Record record = program_of(row.runs);
    EXPECT_EQ(refusal_of_ratio(record, record.cases[0], 1), row.refusal) << row.what;
  }
}

TEST(RatioRefusal, CountsTheRunsThatAreMissing) {
  const Record record = program_of({{1.0, 1.1}, {2.0, 2.1}, 3, 1});
  const EndedRuns ended = ended_runs(record, record.cases[0], 1);
  EXPECT_EQ(ended.all, 6U);
  EXPECT_EQ(ended.failed, 3U);
  EXPECT_EQ(ended.lacking, 1U);
  EXPECT_EQ(ended_runs(record, record.cases[0], 0).lost(), 0U);
}

TEST(RatioRefusal, KnowsWrongDataAndOnePath) {
  const Record wrong = wrong_data_record();
  EXPECT_EQ(refusal_of_ratio(wrong, wrong.cases[0], 1), RatioRefusal::wrong_data);
  EXPECT_EQ(refusal_of_ratio(wrong, wrong.cases[1], 1), std::nullopt);
  EXPECT_EQ(refusal_of_ratio(wrong, wrong.cases[2], 1), RatioRefusal::wrong_data);
  const Record one_path = phb_record();
  EXPECT_EQ(refusal_of_ratio(one_path, one_path.cases[0], 1), RatioRefusal::same_path);
}

}  // namespace
}  // namespace linkgain::test

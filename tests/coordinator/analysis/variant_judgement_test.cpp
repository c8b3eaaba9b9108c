#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "linkgain/analysis/judgement.hpp"
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
  int first_failed = 0;
  double resolution = 0.0;
};

Record program_of(const Runs& runs) {
  Case definition;
  definition.metric = ProgramMetric{.name = "loss"};
  Record record = run_of({{definition, "a", runs.first}, {definition, "b", runs.other}});
  for (Sample& sample : record.cases[0].samples) sample.resolution = runs.resolution;
  const auto add = [&](const std::string& variant, std::size_t count, const std::string& failure) {
    for (std::size_t i = 0; i < count; ++i) {
      record.runs.push_back({.variant = variant, .failure = failure});
    }
  };
  add("a", runs.first.size(), "");
  add("a", static_cast<std::size_t>(runs.first_failed), "lost");
  add("b", runs.other.size() + static_cast<std::size_t>(runs.lacking), "");
  add("b", static_cast<std::size_t>(runs.failed), "lost");
  record.runs.push_back({.variant = "a", .warm_up = true, .failure = "lost"});
  summarise(record);
  return record;
}

TEST(JudgeVariants, KnowsWhichRunsOfAProgramCompareNothing) {
  using enum Reason::Kind;
  struct Row {
    const char* what;
    Runs runs;
    Verdict verdict;
    std::optional<Reason::Kind> reason;
  };
  constexpr Verdict kNone = Verdict::not_comparable;
  for (const Row& row :
       {Row{"two runs each", {{1.0, 1.1}, {2.0, 2.1}}, Verdict::inconclusive, {}},
        {"one run each", {{1.0}, {2.0}}, kNone, few_runs},
        {"one run of one", {{1.0, 1.1, 1.2}, {2.0}}, kNone, few_runs},
        {"two runs that agree", {{1.0, 1.0}, {2.0, 2.0}}, kNone, few_runs},
        {"three runs that agree", {{1.0, 1.0, 1.0}, {2.0, 2.0, 2.0}}, Verdict::faster, {}},
        {"two runs, of which one's differ", {{1.0, 1.1}, {2.0, 2.0}}, Verdict::faster, {}},
        {"two runs, of which the other's differ", {{1.0, 1.0}, {2.0, 2.1}}, Verdict::faster, {}},
        {"three runs that agree in their one digit",
         {{1.0, 1.0, 1.0}, {2.0, 2.0, 2.0}, 0, 0, 0, 1.0},
         Verdict::inconclusive,
         {}},
        {"all the same", {{1.0, 1.0, 1.0}, {1.0, 1.0, 1.0}}, Verdict::same, {}},
        {"six runs",
         {{1.0, 1.1, 1.2, 1.0, 1.1, 1.2}, {2.0, 2.1, 2.0, 2.1, 2.0, 2.1}},
         Verdict::faster,
         {}},
        {"a run failed", {{1.0, 1.1}, {2.0, 2.1}, 1, 0}, kNone, lost_runs},
        {"a run of the first failed", {{1.0, 1.1}, {2.0, 2.1}, 0, 0, 1}, kNone, lost_runs},
        {"a run gave no number", {{1.0, 1.1}, {2.0, 2.1}, 0, 1}, kNone, lost_runs},
        {"no run gave one", {{1.0, 1.1}, {}, 0, 2}, Verdict::missing, {}}}) {
    SCOPED_TRACE(row.what);
    const Record record = program_of(row.runs);
    const Judgement judgement = judge_variants(record, record.cases[0], 1);
    EXPECT_EQ(judgement.verdict, row.verdict);
    EXPECT_EQ(judgement.reasons.empty(), !row.reason);
    EXPECT_TRUE(!row.reason || judgement.has(*row.reason));
  }
}

/// Leaves a difference inconclusive where the interval holds what would matter.
TEST(JudgeVariants, CallsThemTheSameWhereNothingThatMattersIsLeft) {
  const auto verdict = [](const Estimate& ratio) {
    Record record = run_of({{sized(8), "p2p", {1.0}}, {sized(8), "host", {1.0}}});
    summarise(record);
    record.settings.backend = BackendKind::mpi;
    record.cases[0].ratios = {{"host", ratio}};
    const Judgement judgement = judge_variants(record, record.cases[0], 1);
    EXPECT_EQ(judgement.has(Reason::Kind::one_launch), !ratio.interval && ratio.replicates < 2);
    return judgement.verdict;
  };
  const auto of = [&](double low, double high) {
    return verdict({.value = std::sqrt(low * high), .interval = Interval{low, high}});
  };
  EXPECT_EQ(of(0.91, 1.09), Verdict::same);
  EXPECT_EQ(of(0.89, 1.01), Verdict::inconclusive);
  EXPECT_EQ(of(0.99, 1.11), Verdict::inconclusive);
  EXPECT_EQ(of(1.01, 1.02), Verdict::faster) << "than the other one, which takes longer";
  EXPECT_EQ(of(0.98, 0.99), Verdict::slower);
  EXPECT_EQ(verdict({.value = 1.5}), Verdict::inconclusive) << "one launch";
  EXPECT_EQ(verdict({.value = 1.5, .replicates = 2}), Verdict::inconclusive) << "that agree";
}

TEST(JudgeVariants, KnowsNothingByOneLaunch) {
  const auto judgement = [](const std::vector<double>& first, const std::vector<double>& other) {
    Record record = run_of({{sized(8), "a", first}, {sized(8), "b", other}});
    summarise(record);
    return judge_variants(record, record.cases[0], 1);
  };
  EXPECT_EQ(judgement({1.0}, {2.0}).verdict, Verdict::inconclusive);
  EXPECT_TRUE(judgement({1.0}, {2.0}).has(Reason::Kind::one_launch));
  EXPECT_TRUE(judgement({1.0, 1.1, 1.0, 1.1}, {2.0}).has(Reason::Kind::one_launch));
  EXPECT_THAT(judgement({1.0, 1.1}, {2.0, 2.1}).reasons, testing::IsEmpty());
}

TEST(JudgeVariants, CountsTheRunsThatAreMissing) {
  const Record record = program_of({{1.0, 1.1}, {2.0, 2.1}, 3, 1});
  const EndedRuns ended = ended_runs(record, record.cases[0], 1);
  EXPECT_EQ(ended.all, 6U);
  EXPECT_EQ(ended.failed, 3U);
  EXPECT_EQ(ended.lacking, 1U);
  EXPECT_EQ(ended_runs(record, record.cases[0], 0).lost(), 0U);
}

TEST(JudgeVariants, KnowsWrongDataAndOnePath) {
  const auto verdict = [](const Record& record, std::size_t index) {
    return judge_variants(record, record.cases[index], 1).verdict;
  };
  const Record wrong = wrong_data_record();
  EXPECT_EQ(verdict(wrong, 0), Verdict::wrong_data);
  EXPECT_TRUE(has_speed_up(verdict(wrong, 1)));
  EXPECT_EQ(verdict(wrong, 2), Verdict::wrong_data);
  EXPECT_EQ(verdict(phb_record(), 0), Verdict::same_path);
}

TEST(JudgeVariants, MissesWhatHasNoTimeOrNoRatio) {
  const auto verdict = [](const auto& change) {
    Record record = run_of({{sized(8), "p2p", kEight}, {sized(8), "host", kEight}});
    record.settings.backend = BackendKind::mpi;
    summarise(record);
    change(record.cases[0]);
    return judge_variants(record, record.cases[0], 1).verdict;
  };
  EXPECT_EQ(verdict([](const CaseResult&) {}), Verdict::same);
  EXPECT_EQ(verdict([](CaseResult& result) { result.ratios.clear(); }), Verdict::missing);
  for (const std::size_t variant : {0U, 1U}) {
    EXPECT_EQ(verdict([&](CaseResult& result) { result.variants[variant].time.reset(); }),
              Verdict::missing);
  }
}

}  // namespace
}  // namespace linkgain::test

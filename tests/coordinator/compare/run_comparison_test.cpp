#include "linkgain/compare/run_comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compared_runs.hpp"
#include "comparison_parts.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/compare/comparison_report.hpp"
#include "linkgain/summary/judgement_text.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

Verdict verdict_of(const std::string& name, const std::vector<double>& before,
                   const std::vector<double>& after) {
  const RunFigures first = run_with("a", {timed(name, "p2p", before)});
  const RunFigures second = run_with("b", {timed(name, "p2p", after)});
  return compare_runs(first, second, {}).cases.at(0).verdict;
}

std::vector<std::string> codes_of(const RunComparison& comparison) {
  std::vector<std::string> codes;
  for (const Warning& caution : cautions_of(comparison)) codes.push_back(caution.code);
  return codes;
}

TEST(CompareRuns, TakesTheLaunchAsReplicate) {
  const RunFigures before = run_with("a", {timed(kLarge, "p2p", launches_around(2.0, 0.01, 8))});
  const RunFigures after = run_with("b", {timed(kLarge, "p2p", launches_around(1.0, 0.01, 8))});
  const RunComparison comparison = compare_runs(before, after, {});
  const CaseComparison& row = comparison.cases.at(0);
  EXPECT_EQ(row.verdict, Verdict::faster);
  EXPECT_THAT(row.speed_up->value, DoubleNear(2.0, 1e-9));
  // Student's t of 14 degrees of freedom at 97.5 % is 2.144787.
  const double half = 2.144787 * 0.01 * std::sqrt(2.0 / 8.0);
  EXPECT_THAT(row.speed_up->interval->low, DoubleNear(2.0 * std::exp(-half), 1e-6));
  EXPECT_THAT(row.speed_up->interval->high, DoubleNear(2.0 * std::exp(half), 1e-6));
}

TEST(CompareRuns, NeverHoldsAGraphAgainstAStream) {
  const std::string graph = std::string(kSmall) + "/graph";
  const RunFigures stream = run_with(
      "old.json", {timed(kSmall, "p2p", {9e-6, 9.1e-6}), timed(kLarge, "p2p", {1.0, 1.01})});
  const RunFigures automatic = run_with(
      "new.json", {timed(graph, "p2p", {5e-6, 5.1e-6}), timed(kLarge, "p2p", {1.0, 1.01})});
  const RunComparison comparison = compare_runs(stream, automatic, {});
  ASSERT_THAT(comparison.cases, SizeIs(3));
  EXPECT_EQ(comparison.cases[0].verdict, Verdict::missing);
  EXPECT_THAT(reason_text(comparison.cases[0]),
              AllOf(HasSubstr("old.json"), HasSubstr("stream alone")));
  EXPECT_TRUE(comparison.cases[1].speed_up) << "by stream on both sides";
  EXPECT_THAT(reason_text(comparison.cases[2]),
              AllOf(HasSubstr("new.json"), HasSubstr("graph alone")));
  EXPECT_THAT(codes_of(comparison), Contains("other-launch"));
  EXPECT_THAT(codes_of(compare_runs(automatic, automatic, {})), Not(Contains("other-launch")));
  const RunFigures both = run_with(
      "both.json", {timed(graph, "p2p", {5e-6, 5.1e-6}), timed(kSmall, "p2p", {9e-6, 9.1e-6})});
  EXPECT_TRUE(compare_runs(both, automatic, {}).cases[0].speed_up);
}

TEST(CompareRuns, HasTheRatioOfTheTimesThatItShows) {
  const RunFigures before = run_with("a", {timed(kLarge, "p2p", {1.0, 1.2, 1.1})});
  const RunFigures after = run_with("b", {timed(kLarge, "p2p", {1.0, 0.7})});
  const RunComparison comparison = compare_runs(before, after, {});
  const CaseComparison& row = comparison.cases.at(0);
  EXPECT_THAT(row.speed_up->value,
              DoubleNear(row.before->time->value / row.after->time->value, 1e-12));
}

TEST(CompareRuns, PoolsTheDeviationOfLikeCases) {
  const RunFigures before =
      run_with("a", {timed(kLarge, "p2p", {1.0, 1.0}),
                     timed("all_reduce/float32/sum/512MiB/np2", "p2p", {1.0, std::exp(0.02)}),
                     timed("send_recv/float32/64MiB/np2", "p2p", {1.0, std::exp(0.5)}),
                     timed(kSmall, "p2p", {1.0, std::exp(0.5)}),
                     timed(kLarge, "host", {1.0, std::exp(0.5)})});
  const RunFigures after = run_with("b", {timed(kLarge, "p2p", {1.0, 1.1})});
  const RunComparison comparison = compare_runs(before, after, {});
  // Squares of 0 and 2 (0.02 / 2)^2, a degree of freedom each.
  const std::vector<ShiftPart>& parts = comparison.cases.at(0).basis->parts;
  EXPECT_THAT(parts.front().deviation.deviation, DoubleNear(0.01, 1e-9));
}

TEST(CompareRuns, HasTheDeviationOfTheCaseWhateverItsPlace) {
  const CaseFigures large = timed(kLarge, "p2p", launches_around(1.0, 0.01, 4));
  const CaseFigures small = timed(kSmall, "p2p", launches_around(1.0, 0.1, 4));
  const RunFigures before = run_with("a", {large, small});
  const RunFigures after = run_with("b", {small, large});
  const RunComparison comparison = compare_runs(before, after, {});
  EXPECT_THAT(deviation_of(*comparison.cases.at(0).basis), DoubleNear(0.1, 1e-9));
  EXPECT_THAT(deviation_of(*comparison.cases.at(1).basis), DoubleNear(0.01, 1e-9));
}

TEST(CompareRuns, AssumesNoDeviationWhereNoLikeCaseHasTwoLaunches) {
  const RunFigures run = run_with("a", {timed(kLarge, "p2p", {1.0}), timed(kSmall, "p2p", {1.0})});
  const RunComparison alike = compare_runs(run, run, {});
  for (std::size_t i : {0U, 1U}) {
    EXPECT_FALSE(alike.cases.at(i).basis);
    EXPECT_FALSE(alike.cases.at(i).speed_up->interval);
    EXPECT_TRUE(alike.cases.at(i).has(Reason::Kind::one_launch));
  }
}

TEST(CompareRuns, JudgesByIntervalAndThreshold) {
  const auto eight = [](double centre) { return launches_around(centre, 0.005, 8); };
  EXPECT_EQ(verdict_of(kLarge, eight(1.0), eight(1.0)), Verdict::same);
  EXPECT_EQ(verdict_of(kLarge, eight(1.0), eight(1.012)), Verdict::same);
  EXPECT_EQ(verdict_of(kLarge, eight(1.0), eight(1.05)), Verdict::slower);
  EXPECT_EQ(verdict_of(kLarge, eight(1.05), eight(1.0)), Verdict::faster);
  // Real, but perhaps smaller than what counts.
  EXPECT_EQ(verdict_of(kLarge, eight(1.0), eight(1.018)), Verdict::inconclusive);
  EXPECT_EQ(verdict_of(kLarge, launches_around(1.0, 0.1, 3), launches_around(1.0, 0.1, 3)),
            Verdict::inconclusive);
}

TEST(CompareRuns, NamesNoDirectionBySingleLaunches) {
  for (const double after : {1.0, 1.04, 1.05, 0.09}) {
    EXPECT_EQ(verdict_of(kLarge, {1.0}, {after}), Verdict::inconclusive) << after;
    EXPECT_EQ(verdict_of(kSmall, {1.0}, {after}), Verdict::inconclusive) << after;
  }
}

/// Applies the deviation assumed of launches to operations between GPUs, not to any program's runs.
TEST(CompareRuns, SaysNothingOfOneRunEachOfAProgram) {
  const auto compared = [](const std::vector<double>& before, const std::vector<double>& after) {
    return compare_runs(run_with("a", {timed("exec/time", "p2p", before)}),
                        run_with("b", {timed("exec/time", "p2p", after)}), {})
        .cases.at(0);
  };
  const CaseComparison one = compared({1.0}, {5.0});
  EXPECT_EQ(one.verdict, Verdict::inconclusive);
  EXPECT_EQ(one.speed_up, std::nullopt);
  EXPECT_TRUE(one.has(Reason::Kind::one_launch));
  EXPECT_EQ(compared({1.0, 1.0}, {5.0, 5.0}).speed_up, std::nullopt) << "two that agree by chance";
  EXPECT_EQ(compared({1.0, 1.01}, {5.0, 5.01}).verdict, Verdict::slower);
}

TEST(CompareRuns, SaysWhatHasOneLaunchOnly) {
  const RunFigures one = run_with("one.json", {timed(kLarge, "p2p", {1.0})});
  const RunFigures many = run_with("many.json", {timed(kLarge, "p2p", {1.0, 1.01, 0.99})});
  EXPECT_THAT(codes_of(compare_runs(one, one, {})), ElementsAre("one-launch"));
  EXPECT_THAT(codes_of(compare_runs(many, one, {})), ElementsAre("one-launch"));
  EXPECT_THAT(codes_of(compare_runs(many, many, {})), IsEmpty());
}

TEST(CompareRuns, MatchesVariantsByName) {
  const RunFigures before =
      run_with("a", {timed(kLarge, "p2p", {1.0}), timed(kLarge, "host", {9.0})});
  const RunFigures after =
      run_with("b", {timed(kLarge, "host", {9.0}), timed(kLarge, "ring", {1.0})});
  const RunComparison comparison = compare_runs(before, after, {});
  ASSERT_THAT(comparison.cases, SizeIs(3));
  EXPECT_EQ(comparison.cases[0].variant, "host");
  EXPECT_TRUE(comparison.cases[0].speed_up);
  EXPECT_EQ(comparison.cases[1].verdict, Verdict::missing);
  EXPECT_EQ(reason_text(comparison.cases[1]), "not in a");
  EXPECT_EQ(comparison.cases[2].variant, "p2p");
  EXPECT_EQ(reason_text(comparison.cases[2]), "not in b");
}

TEST(CompareRuns, HoldsFirstVariantsAgainstEachOtherWhereNoNameIsCommon) {
  const RunFigures before = run_with("a", {timed(kLarge, "host", {9.0, 9.1})});
  const RunFigures after = run_with("b", {timed(kLarge, "p2p", {1.0, 1.01})});
  const RunComparison comparison = compare_runs(before, after, {});
  ASSERT_THAT(comparison.cases, SizeIs(1));
  EXPECT_EQ(comparison.cases[0].variant, "host → p2p");
  EXPECT_EQ(comparison.cases[0].verdict, Verdict::faster);
  // A source without variants stands for the first one.
  const RunFigures unnamed = run_with("c", {timed(kLarge, "", {9.0, 9.1})});
  const RunFigures two =
      run_with("d", {timed(kLarge, "p2p", {1.0, 1.01}), timed(kLarge, "host", {9.0})});
  const RunComparison other = compare_runs(unnamed, two, {});
  ASSERT_THAT(other.cases, SizeIs(1));
  EXPECT_EQ(other.cases[0].variant, "p2p");
  EXPECT_EQ(other.cases[0].verdict, Verdict::faster);
}

TEST(CompareRuns, SaysWhyACaseIsNotComparable) {
  CaseFigures wrong = timed(kLarge, "p2p", {1.0});
  wrong.no_time = "wrong data";
  const RunFigures before = run_with("a", {timed(kLarge, "p2p", {1.0})});
  RunFigures after = run_with("b", {wrong});
  const CaseComparison row = compare_runs(before, after, {}).cases.at(0);
  EXPECT_EQ(row.verdict, Verdict::not_comparable);
  EXPECT_EQ(reason_text(row), "after: " + wrong.no_time);
  EXPECT_FALSE(row.speed_up);
  after = before;
  after.settings.backend = BackendKind::mpi;
  EXPECT_THAT(reason_text(compare_runs(before, after, {}).cases.at(0)),
              AllOf(HasSubstr("nccl"), HasSubstr("mpi")));
}

TEST(CompareRuns, EndsByWhatItCouldCompare) {
  const RunFigures good = run_with("a", {timed(kLarge, "p2p", {1.0}), timed(kSmall, "p2p", {1.0})});
  RunFigures bad = good;
  bad.cases[1].no_time = "wrong data";
  bad.cases[1].wrong_data = true;
  const auto exit_of = [](const RunFigures& before, const RunFigures& after) {
    return exit_code_of(compare_runs(before, after, {}));
  };
  EXPECT_EQ(exit_of(good, good), ExitCode::success);
  EXPECT_EQ(exit_of(good, bad), ExitCode::wrong_data);
  EXPECT_EQ(exit_of(bad, good), ExitCode::wrong_data);
  const RunFigures other = run_with("b", {timed("send_recv/float32/1GiB/np2", "p2p", {1.0})});
  EXPECT_EQ(exit_of(good, other), ExitCode::inconclusive);
  EXPECT_EQ(exit_of(bad, other), ExitCode::wrong_data) << "before no case in common";
  RunFigures skipped = good;
  skipped.cases[0].no_time = "skipped: no memory";
  EXPECT_EQ(exit_of(good, skipped), ExitCode::success);
  skipped.cases[1].no_time = skipped.cases[0].no_time;
  EXPECT_EQ(exit_of(good, skipped), ExitCode::inconclusive) << "nothing was compared";
}

TEST(CompareRuns, SelectsOperations) {
  const RunFigures run = run_with(
      "a", {timed(kLarge, "p2p", {1.0}), timed("send_recv/float32/1GiB/np2", "p2p", {1.0})});
  CompareOptions options;
  options.operations = {OperationKind::send_recv};
  const RunComparison comparison = compare_runs(run, run, options);
  ASSERT_THAT(comparison.cases, SizeIs(1));
  EXPECT_EQ(comparison.cases[0].name, "send_recv/float32/1GiB/np2");
}

TEST(CompareRuns, CautionsOfWhatElseMayExplainADifference) {
  const std::vector<double> launches{1.0, 1.01, 0.99};
  const RunFigures before = run_with("a", {timed(kLarge, "p2p", launches)});
  RunFigures after = run_with("b", {timed(kLarge, "p2p", launches)});
  after.machine.software.driver = "590.2";
  after.machine.software.nccl_library = "2.29.1";
  after.settings.environment_in_force[0]["NCCL_ALGO"] = "Ring";
  after.status = RunStatus::job_lost;
  HealthSummary& health = after.cases[0].health;
  health.clock_event_reasons = 0x40;
  health.samples = 20;
  health.unhealthy_samples = 3;
  const RunComparison comparison = compare_runs(before, after, {});
  EXPECT_THAT(codes_of(comparison), ElementsAre("incomplete", "throttled", "other-driver",
                                                "other-nccl", "other-variables"));
  // The bridge is what is compared: no caution of it.
  EXPECT_THAT(codes_of(compare_runs(two_titans("a", false), two_titans("b", true), {})), IsEmpty());
  // What goes through the host goes by that, bridge or not.
  RunFigures slower_host = two_titans("b", true);
  slower_host.machine.ranks[0].host_copy->from_gpu_gb_per_s = 25.0;
  slower_host.machine.ranks[1].gpu->pcie_width = 8;
  EXPECT_THAT(codes_of(compare_runs(two_titans("a", false), slower_host, {})),
              ElementsAre("other-pcie"));
  RunFigures four = run_with("c", {timed("all_reduce/float32/sum/1GiB/np4", "p2p", launches)});
  EXPECT_THAT(codes_of(compare_runs(before, four, {})), ElementsAre("other-ranks"));
}

TEST(HeadlineCase, IsTheLargestAllReduceOfTheFirstVariant) {
  const RunFigures run = run_with(
      "a", {timed("send_recv/float32/2GiB/np2", "p2p", {1.0}), timed(kSmall, "p2p", {1.0}),
            timed(kLarge, "p2p", {1.0}), timed("all_reduce/float32/sum/2GiB/np2", "host", {1.0})});
  EXPECT_EQ(headline_case(compare_runs(run, run, {}))->name, kLarge);
  const RunFigures sends = run_with("a", {timed("send_recv/float32/1KiB/np2", "p2p", {1.0}),
                                          timed("send_recv/float32/2GiB/np2", "p2p", {1.0})});
  EXPECT_EQ(headline_case(compare_runs(sends, sends, {}))->name, "send_recv/float32/2GiB/np2");
  EXPECT_EQ(headline_case(compare_runs(run_with("a", {}), run, {})), nullptr);
}

TEST(HeadlineCase, IsTheFirstTrainingThatCommunicates) {
  const char* none = "gpt2_step/fp32/gpt2/np2/none";
  const char* ddp = "gpt2_step/fp32/gpt2/np2";
  const RunFigures run = run_with(
      "a", {timed(kLarge, "p2p", {1.0}), timed(none, "p2p", {0.5}), timed(ddp, "p2p", {0.6}),
            timed(ddp, "host", {0.7}), timed("gpt2_step/fp32/gpt2/np2/zero3", "p2p", {0.8})});
  const RunComparison both = compare_runs(run, run, {});
  EXPECT_EQ(headline_case(both)->name, ddp);
  EXPECT_EQ(headline_case(both)->variant, "p2p");
  const RunFigures alone = run_with("b", {timed(none, "p2p", {0.5}), timed(kSmall, "p2p", {1.0})});
  EXPECT_EQ(headline_case(compare_runs(alone, run, {}))->name, none) << "no all_reduce either";
  const RunFigures other =
      run_with("c", {timed("gpt2_step/tf32/gpt2/np2", "p2p", {0.1}), timed(kLarge, "p2p", {1.0})});
  EXPECT_EQ(headline_case(compare_runs(run, other, {}))->name, kLarge) << "not the same training";
  CompareOptions options;
  options.operations = {OperationKind::all_reduce};
  EXPECT_EQ(headline_case(compare_runs(run, run, options))->name, kLarge);
}

TEST(ComparisonJson, SaysHowManyStepsTrainingsHad) {
  RunFigures before = run_with("a", {timed("gpt2_step/fp32/gpt2/np2", "p2p", {0.5})});
  before.settings.training = TrainingPlan{.steps = 50, .tokens = "wiki.bin"};
  const RunFigures after = run_with("b", {timed(kLarge, "p2p", {1.0})});
  const auto json = nlohmann::json::parse(to_json({compare_runs(before, after, {})}));
  const auto& comparison = json.at("comparisons").at(0);
  EXPECT_EQ(comparison.at("before").at("training").at("steps"), 50);
  EXPECT_EQ(comparison.at("before").at("training").at("tokens"), "wiki.bin");
  EXPECT_TRUE(comparison.at("after").at("training").is_null());
}

TEST(ComparisonJson, HoldsEveryFigure) {
  const RunFigures before = run_with("a", {timed(kLarge, "p2p", {2.0})});
  const RunFigures after =
      run_with("b", {timed(kLarge, "p2p", {1.0}), timed(kSmall, "p2p", {1.0})});
  const auto json = nlohmann::json::parse(to_json({compare_runs(before, after, {})}));
  EXPECT_EQ(json.at("schema"), "linkgain.comparison/1");
  const auto& comparison = json.at("comparisons").at(0);
  EXPECT_EQ(comparison.at("before").at("name"), "a");
  const auto& row = comparison.at("cases").at(0);
  EXPECT_EQ(row.at("verdict"), "inconclusive");
  EXPECT_TRUE(row.at("difference").at("low").is_null());
  EXPECT_EQ(row.at("before").at("launch_medians_s").at(0), 2.0);
  EXPECT_EQ(row.at("difference").at("speed_up"), 2.0);
  EXPECT_EQ(row.at("difference").at("less_time"), 0.5);
  EXPECT_TRUE(row.at("difference").at("degrees_of_freedom").is_null());
  EXPECT_TRUE(comparison.at("cases").at(1).at("before").is_null());
  EXPECT_EQ(comparison.at("headline").at("case"), kLarge);
}

TEST(CompareRuns, ComparesNoNumbersOfDifferentUnits) {
  const auto run_in = [](const std::string& unit) {
    RunFigures run = after_bridge();
    run.cases.resize(1);
    run.cases[0].definition = program_case({.name = "lat", .unit = unit});
    return run;
  };
  const RunFigures in_ms = run_in("ms");
  const RunFigures in_s = run_in("s");
  const RunComparison other = compare_runs(in_ms, in_s, {});
  ASSERT_EQ(other.cases.size(), 1U);
  EXPECT_EQ(other.cases[0].verdict, Verdict::not_comparable);
  EXPECT_THAT(reason_text(other.cases[0]), HasSubstr("in s after"));
  EXPECT_EQ(exit_code_of(other), ExitCode::inconclusive);
  EXPECT_NE(compare_runs(in_ms, in_ms, {}).cases[0].verdict, Verdict::not_comparable);
}

}  // namespace
}  // namespace linkgain::test

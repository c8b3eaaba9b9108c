#include "linkgain/baseline/baseline.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "linkgain/base/errors.hpp"
#include "support/golden.hpp"
#include "support/launch_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Baseline baseline_from(const std::vector<Record>& records) {
  std::vector<NamedRecord> named;
  for (std::size_t i = 0; i < records.size(); ++i) {
    named.push_back({"r" + std::to_string(i), records[i]});
  }
  return make_baseline(named, {}, "2026-01-02");
}

std::vector<std::string> warning_codes(const Baseline& baseline) {
  std::vector<std::string> codes;
  for (const Warning& warning : baseline.warnings) codes.push_back(warning.code);
  return codes;
}

/// Makes a run whose launches have a level that far off 1 ms.
Record run_at(double share, const std::string& started, std::size_t launches = 2) {
  const double level = 1e-3 * (1.0 + share);
  std::vector<double> times(launches, level * 1.001);
  for (std::size_t i = 0; i < launches; i += 2) times[i] = level / 1.001;
  return run_of({{sized(8), "p2p", times}}, started);
}

TEST(Baseline, KnowsFromThreeRunsHowFarTheyLieApart) {
  const Baseline two = baseline_from({run_at(0.0, "1"), run_at(0.04, "2")});
  EXPECT_FALSE(two.cases[0].between_runs);
  const Baseline three = baseline_from({run_at(0.0, "1"), run_at(0.04, "2"), run_at(0.08, "3", 8)});
  const RunDeviation& between_runs = three.cases[0].between_runs.value();
  EXPECT_EQ(between_runs.runs, 3);
  EXPECT_EQ(between_runs.deviation.degrees_of_freedom, 2);
  EXPECT_NEAR(between_runs.deviation.deviation, std::log(1.08) / 2.0, 1e-3);
  EXPECT_EQ(three.cases[0].launches, 12);
  EXPECT_NEAR(three.cases[0].time.value, 1e-3 * std::cbrt(1.04 * 1.08), 1e-9)
      << "each run counts once";
}

TEST(Baseline, KnowsNothingByRunsThatAgree) {
  EXPECT_FALSE(
      baseline_from({run_at(0.0, "1"), run_at(0.0, "2"), run_at(0.0, "3")}).cases[0].between_runs);
}

/// Takes a run in which all cases are slow for one observation.
TEST(Baseline, CountsRunsNotCases) {
  std::vector<Record> runs;
  for (const double share : {0.0, 0.04, 0.08}) {
    std::vector<Measured> cases;
    for (int power = 20; power < 24; ++power) {
      cases.push_back({sized(std::int64_t{1} << power), "p2p", {1e-3 * (1.0 + share)}});
    }
    runs.push_back(run_of(cases, std::to_string(share)));
  }
  EXPECT_EQ(baseline_from(runs).cases[0].between_runs->deviation.degrees_of_freedom, 2);
}

TEST(Baseline, KeepsEveryVariantOfEveryCase) {
  const Baseline baseline = baseline_from({run_of({{sized(8), "p2p", kEight},
                                                   {sized(8), "host", kEight, Path::host_memory},
                                                   {sized(16), "p2p", kEight}})});
  ASSERT_THAT(baseline.cases, SizeIs(3));
  const BaselineCase& first = baseline.cases[0];
  double logs = 0.0;
  for (const double time : kEight) logs += std::log(time) / 8.0;
  EXPECT_NEAR(first.time.value, std::exp(logs), 1e-15);
  EXPECT_EQ(first.launches, 8);
  EXPECT_THAT(first.launch_times, SizeIs(8));
  EXPECT_EQ(first.path, Path::nvlink);
  EXPECT_EQ(baseline.cases[1].path, Path::host_memory);
  EXPECT_NEAR(first.between_launches->deviation, 0.00756, 1e-4);
  EXPECT_EQ(baseline.made, "2026-01-02");
  EXPECT_EQ(baseline.key.nccl, "2.28");
  EXPECT_THAT(baseline.variants, SizeIs(2));
  EXPECT_THAT(baseline.sources, ElementsAre(BaselineSource{"node1", "2026-01-01", 8}));
  EXPECT_THAT(baseline.warnings, IsEmpty());
}

TEST(Baseline, PoolsLaunchesOfSeveralRecords) {
  const Record first = run_of({{sized(8), "p2p", {1e-3, 1.01e-3, 1e-3, 0.99e-3}}}, "a");
  const Record second = run_of({{sized(8), "p2p", {1e-3, 1.01e-3, 1e-3, 0.99e-3}}}, "b");
  const Baseline baseline = baseline_from({first, second});
  EXPECT_EQ(baseline.cases[0].launches, 8);
  EXPECT_THAT(baseline.sources, SizeIs(2));
  EXPECT_THAT(baseline.warnings, IsEmpty());
}

TEST(Baseline, TellsRunsOfTheSameSecondApartByTheirDigests) {
  Record first = run_of({{sized(8), "p2p", kEight}});
  Record second = first;
  first.digest = "mix64:0000000000000001";
  EXPECT_THROW(baseline_from({first, second}), UsageError) << "an older record has none";
  second.digest = "mix64:0000000000000002";
  EXPECT_THAT(baseline_from({first, second}).sources, SizeIs(2));
  EXPECT_THROW(baseline_from({first, second, first}), UsageError);
}

TEST(Baseline, IsOfOneProgram) {
  Record first = run_of({{sized(8), "p2p", kEight}}, "a");
  Record second = run_of({{sized(8), "p2p", kEight}}, "b");
  ProgramPlan& program = first.settings.program.emplace();
  program.command = {"sh", "train.sh"};
  program.server = "serve";
  second.settings.program = first.settings.program;
  EXPECT_EQ(baseline_from({first, second}).sources[1].program, "serve & sh train.sh");
  second.settings.program->command[1] = "other.sh";
  EXPECT_THAT(thrown_by([&] { baseline_from({first, second}); }), HasSubstr("other.sh"));
}

TEST(Baseline, OfFewLaunchesIsSaidToBeWeak) {
  const Baseline two = baseline_from({run_of({{sized(8), "p2p", {1e-3, 1e-3}}})});
  ASSERT_THAT(warning_codes(two), ElementsAre("weak-baseline"));
  EXPECT_THAT(two.warnings[0].advice, HasSubstr("often be"));
  const Baseline one = baseline_from({run_of({{sized(8), "p2p", {1e-3}}})});
  EXPECT_EQ(one.cases[0].between_launches, std::nullopt);
  EXPECT_THAT(one.warnings[0].text, HasSubstr("1 launch,"));
  EXPECT_THAT(one.warnings[0].advice, HasSubstr("one launch nothing"));
}

TEST(Baseline, LeavesOutWhatIsNoReferenceAndSaysSo) {
  Record record = run_of({{sized(8), "p2p", kEight},
                          {sized(16), "p2p", kEight},
                          {sized(32), "p2p", {}},
                          {sized(64), "p2p", kEight}});
  record.cases[1].variants[0].verification = Verification{8, 2, 1.0, 0.0, ""};
  record.cases[2].variants[0].skipped = Skip{.refusal = "out of memory"};
  Record other = run_of({{sized(64), "p2p", kEight, Path::host_memory}}, "later");
  const Baseline baseline = baseline_from({record, other});
  ASSERT_THAT(baseline.cases, SizeIs(1));
  ASSERT_THAT(warning_codes(baseline), ElementsAre("left-out"));
  EXPECT_THAT(baseline.warnings[0].text,
              AllOf(HasSubstr("/16B/np2 with p2p"), HasSubstr("2 of 8 elements"),
                    HasSubstr("/32B/np2 with p2p"), HasSubstr("out of memory"),
                    HasSubstr("nvlink, host-memory")));
}

TEST(Baseline, WarnsOfUnsteadyCasesAndOfThrottledGpus) {
  std::vector<Measured> all;
  for (int i = 0; i < 4; ++i) all.push_back({sized(4096 << i), "p2p", kEight});
  all.push_back({sized(48 << 10), "p2p", {1e-3, 2e-3, 1e-3, 2e-3, 1e-3, 2e-3, 1e-3, 2e-3}});
  Record record = run_of(all);
  record.cases[3].variants[0].health.unhealthy_samples = 1;
  const Baseline baseline = baseline_from({record});
  ASSERT_THAT(warning_codes(baseline), ElementsAre("throttled", "unsteady"));
  EXPECT_THAT(baseline.warnings[0].text, HasSubstr("/32KiB/np2 with p2p"));
  EXPECT_THAT(baseline.warnings[1].text, HasSubstr("/48KiB/np2 with p2p (37 %)"))
      << "log(2) / 2 sqrt(8 / 7)";
}

TEST(Baseline, SaysWhichRecordWasCutShort) {
  Record record = run_of({{sized(8), "p2p", kEight}});
  record.status = RunStatus::job_lost;
  const Baseline baseline = baseline_from({record});
  ASSERT_THAT(warning_codes(baseline), ElementsAre("incomplete-record"));
  EXPECT_EQ(baseline.warnings[0].text, "r0: job lost");
}

/// Lets records from before links were counted stand first.
TEST(Baseline, KnowsOfTheMachineWhatAnyRecordKnows) {
  const auto linked = [](std::optional<int> nvlinks, const char* started) {
    Record record = run_of({{sized(8), "p2p", kEight}}, started);
    record.machine.links[0].nvlinks = nvlinks;
    return record;
  };
  const Record older = linked({}, "1");
  EXPECT_EQ(baseline_from({older, linked(18, "2")}).key.links[0].nvlinks, 18);
  EXPECT_THAT(thrown_by([&] {
                baseline_from({older, linked(18, "2"), linked(9, "3")});
              }),
              AllOf(HasSubstr("r1"), HasSubstr("r2"), HasSubstr("NV18 there, NV9 here")));
}

TEST(Baseline, RefusesToMix) {
  const Record here = run_of({{sized(8), "p2p", kEight}});
  const Record old = changed(here, [](Record& r) { r.machine.software.nccl_library = "2.20.1"; });
  const Record ring = changed(here, [](Record& r) {
    r.started = "later";
    r.settings.variants[0].environment["NCCL_ALGO"] = "Ring";
  });
  const auto refusal = [](const std::vector<Record>& records) {
    return thrown_by([&] { baseline_from(records); }) + "\n";
  };
  expect_golden("another NCCL: " + refusal({here, old}) + "the same run: " + refusal({here, here}) +
                    "other variables: " + refusal({here, ring}) +
                    "no case: " + refusal({run_of({})}) + "no record: " + refusal({}),
                "refused_records.txt");
}

TEST(BaselineOverrides, ChangeTheBoundsTheyGiveInTheirOrder) {
  Baseline baseline = baseline_from({run_of(
      {{sized(8), "p2p", kEight}, {sized(8), "host", kEight}, {sized(1 << 20), "p2p", kEight}})});
  baseline.overrides = {{"*", "*", std::nullopt, std::optional<double>(0.1)},
                        {"*/8B/*", "h*", std::optional<double>(), std::optional<double>(0.2)}};
  EXPECT_EQ(tolerance_of(baseline, baseline.cases[0]), (Tolerance{-0.05, 0.1}));
  EXPECT_EQ(tolerance_of(baseline, baseline.cases[1]), (Tolerance{std::nullopt, 0.2}));
  EXPECT_EQ(tolerance_of(baseline, baseline.cases[2]), (Tolerance{-0.05, 0.1}));
}

}  // namespace
}  // namespace linkgain::test

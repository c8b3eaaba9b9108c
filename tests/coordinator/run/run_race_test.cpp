#include <gmock/gmock.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/race/tuning.hpp"
#include "run_support.hpp"
#include "support/launch_records.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Races two cases among variants that take so many microseconds in the first and in the second
/// one; launches scatter by a few per mille.
class RaceBench : public RunBench {
 public:
  explicit RaceBench(const std::vector<std::pair<double, double>>& microseconds)
      : RunBench(std::vector<FakeScript>(microseconds.size())) {
    plan.race = RaceStages{.screening = 2, .choosing = 2, .confirming = 3};
    plan.launches = plan.race->screening;
    for (int variant = 0; variant < static_cast<int>(microseconds.size()); ++variant) {
      const auto& [first, second] = microseconds[static_cast<std::size_t>(variant)];
      for (int launch = 0; launch < plan.race->launches(); ++launch) {
        FakeScript& script = script_of_launch[{variant, launch}];
        script.seconds_of_case = {{case_name(plan.cases[0]), 1e-6 * first},
                                  {case_name(plan.cases[1]), 1e-6 * second}};
        script.noise = 0.003;
        script.seed = static_cast<unsigned>(1 + 100 * variant + launch);
      }
    }
  }
};

/// Lists the variants that were sampled in a launch of a case.
std::set<int> sampled_in(const Record& record, std::size_t index, int launch) {
  std::set<int> variants;
  for (const Sample& sample : record.cases[index].samples) {
    if (sample.launch == launch) variants.insert(sample.variant);
  }
  return variants;
}

/// Lists the variants whose jobs were started for a launch.
std::set<std::string> started_for(const RunBench& bench, int launch) {
  std::set<std::string> variants;
  for (const std::string& each : bench.started) {
    if (each.ends_with(" in " + std::to_string(launch))) variants.insert(each.substr(0, 2));
  }
  return variants;
}

TEST(RunRace, StartsInEachStageWhoIsLeftAndAtLastTheWinnersInAllCases) {
  // v1 gains in the first case, v2 nowhere, v3 less than v1, in the second case nothing.
  RaceBench bench({{100, 100}, {80, 130}, {140, 140}, {90, 100}});
  bench.execute();
  for (const int launch : {0, 1}) {
    EXPECT_THAT(started_for(bench, launch), ElementsAre("v0", "v1", "v2", "v3")) << launch;
    EXPECT_THAT(sampled_in(bench.record, 1, launch), ElementsAre(0, 1, 2, 3)) << launch;
  }
  for (const int launch : {2, 3}) {
    EXPECT_THAT(started_for(bench, launch), ElementsAre("v0", "v1", "v3")) << launch;
    EXPECT_THAT(sampled_in(bench.record, 0, launch), ElementsAre(0, 1, 3)) << launch;
    EXPECT_THAT(sampled_in(bench.record, 1, launch), IsEmpty()) << launch;
  }
  for (const int launch : {4, 5, 6}) {
    EXPECT_THAT(started_for(bench, launch), ElementsAre("v0", "v1")) << launch;
    EXPECT_THAT(sampled_in(bench.record, 1, launch), ElementsAre(0, 1)) << launch;
  }
  EXPECT_EQ(bench.record.status, RunStatus::complete);
  EXPECT_EQ(count_launches(bench.record), 7);
}

TEST(RunRace, IsFoundInItsRecordAloneAsItWas) {
  RaceBench bench({{100, 100}, {80, 130}, {140, 140}, {90, 100}});
  bench.execute();
  const Record read = parse_journal(read_text(bench.journal_path()), "");
  const Tuning tuning = tuning_of(read).value();
  EXPECT_EQ(tuning.screened, 6);
  EXPECT_EQ(tuning.left, 2);
  EXPECT_THAT(tuning.winners, ElementsAre(1, 0));
  EXPECT_TRUE(tuning.confirmations[0].holds);
  EXPECT_NEAR(tuning.confirmations[0].ratio.value, 1.25, 0.01);
  EXPECT_EQ(tuning.confirmations[0].ratio.replicates, 3);
  EXPECT_EQ(tuning.confirmations[1].variant, 0U);

  const Record part = confirming_part(read);
  ASSERT_EQ(part.settings.variants.size(), 2U);
  EXPECT_EQ(part.settings.variants[1].name, "v1");
  EXPECT_EQ(part.settings.launches, 3);
  EXPECT_NEAR(part.cases[1].variants[1].time->value, 130e-6, 1e-6);
  EXPECT_EQ(part.cases[1].ratios.front().ratio.replicates, 3);
  for (const Sample& sample : part.cases[1].samples) EXPECT_GE(sample.launch, 4);
}

TEST(RunRace, EndsWhenNobodyIsLeft) {
  RaceBench bench({{100, 100}, {100, 130}, {140, 101}});
  bench.execute();
  EXPECT_EQ(count_launches(bench.record), 2);
  EXPECT_EQ(bench.record.status, RunStatus::complete);
  const Tuning tuning = tuning_of(bench.record).value();
  EXPECT_EQ(tuning.left, 0);
  EXPECT_THAT(tuning.winners, ElementsAre(0, 0));
  const Record part = confirming_part(bench.record);
  EXPECT_EQ(part.settings.variants.size(), 1U);
  EXPECT_NEAR(part.cases[0].variants[0].time->value, 100e-6, 1e-6);
}

TEST(RunRace, RunsOneVariantAfterTheOtherWhereTheyCannotBeUpTogether) {
  RaceBench bench({{100, 100}, {80, 130}, {140, 140}, {90, 100}});
  bench.plan.schedule = Schedule::sequential;
  bench.execute();
  EXPECT_THAT(started_for(bench, 0), ElementsAre("v0", "v1", "v2", "v3"));
  EXPECT_THAT(started_for(bench, 3), ElementsAre("v0", "v1", "v3"));
  EXPECT_THAT(started_for(bench, 6), ElementsAre("v0", "v1"));
  EXPECT_THAT(tuning_of(bench.record)->winners, ElementsAre(1, 0));
}

TEST(RunRace, KeepsLl128OffGpusThatNvlinkDoesNotJoin) {
  for (const bool nvlink : {false, true}) {
    RaceBench bench({{100, 100}, {80, 80}});
    bench.plan.backend = BackendKind::nccl;
    bench.plan.variants[1].environment = {{"NCCL_PROTO", "LL128"}};
    bench.machine.ranks = {gpu_rank(0), gpu_rank(1)};
    bench.machine.links = {{.from = 0, .to = 1, .p2p = true, .nvlink = nvlink}};
    bench.execute();
    EXPECT_EQ(sampled_in(bench.record, 0, 0).size(), nvlink ? 2U : 1U);
    EXPECT_EQ(count_launches(bench.record), nvlink ? 7 : 2);
    const bool is_told = bench.record.cases[0].variants[1].skipped.has_value();
    EXPECT_EQ(is_told, !nvlink);
    EXPECT_EQ(bench.record.status, RunStatus::complete);
  }
}

}  // namespace
}  // namespace linkgain::test

#include "linkgain/compare/run_figures.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/full_record.hpp"

namespace linkgain::test {
namespace {

using ::testing::DoubleNear;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(RunFigures, TellRunsApart) {
  Record record = full_record();
  const auto identity = [&] { return figures_of(record, "run.json").identity; };
  record.digest.clear();
  const std::string whole = identity();
  record.cases[0].samples.pop_back();
  const std::string shorter = identity();
  record.started = "2026-11-20T16:40:01Z";
  EXPECT_NE(shorter, whole) << "it went on since";
  EXPECT_NE(identity(), shorter) << "it began later";
  record.digest = "f00d";
  EXPECT_EQ(identity(), "f00d");
}

TEST(RunFigures, OfARecordHaveAMedianForEachLaunch) {
  const RunFigures run = figures_of(full_record(), "before.json");
  EXPECT_EQ(run.identity, figures_of(full_record(), "copy.json").identity);
  EXPECT_EQ(run.name, "before.json");
  EXPECT_EQ(run.source, RunSource::record);
  EXPECT_EQ(run.status, RunStatus::job_lost);
  ASSERT_THAT(run.cases, SizeIs(6));
  const CaseFigures& first = run.cases[0];
  EXPECT_EQ(first.variant, "p2p");
  EXPECT_EQ(first.no_time, "");
  EXPECT_EQ(first.path, Path::nvlink);
  // add_full_samples(): 1 ms times 1 + round / 100 in eight rounds, the second launch 5 % longer.
  ASSERT_THAT(first.launches, SizeIs(2));
  EXPECT_THAT(first.launches[0].time.value, DoubleNear(1.035e-3, 1e-12));
  EXPECT_THAT(first.launches[1].time.value, DoubleNear(1.035e-3 * 1.05, 1e-12));
  EXPECT_EQ(first.launches[1].launch, 1);
}

// Has launches of unequal length: the median over all samples is the longer one's.
TEST(RunFigures, ShowWhatTheRatioIsMadeOf) {
  Record record = full_record();
  summarise(record);
  const RunFigures run = figures_of(record, "r");
  const CaseFigures& first = run.cases[0];
  const double mean = 1.035e-3 * std::sqrt(1.05);
  EXPECT_THAT(first.time->value, DoubleNear(mean, 1e-12));
  EXPECT_THAT(*first.busbw, DoubleNear(bus_bandwidth(first.definition, *first.time), 1e-9));
  EXPECT_THAT(*first.algbw, DoubleNear(algorithm_bandwidth(first.definition, *first.time), 1e-9));
}

TEST(RunFigures, KeepWhatCameOfTrainings) {
  const Record record = full_record();
  const RunFigures run = figures_of(record, "r");
  std::size_t place = 0;
  int trainings = 0;
  for (const CaseResult& result : record.cases) {
    for (const VariantResult& variant : result.variants) {
      EXPECT_EQ(run.cases.at(place).training, variant.training) << place;
      trainings += variant.training ? 1 : 0;
      ++place;
    }
  }
  EXPECT_GT(trainings, 0);
}

TEST(RunFigures, SayWhyThereIsNoTime) {
  const RunFigures run = figures_of(full_record(), "r");
  EXPECT_THAT(run.cases[1].no_time, HasSubstr("3 of 1000"));
  EXPECT_THAT(run.cases[2].no_time, HasSubstr("no network"));
}

TEST(RunFigures, WithoutSamplesTakeTheMedianAsOneLaunch) {
  Record record = full_record();
  for (CaseResult& result : record.cases) result.samples.clear();
  record.cases[0].variants[0].time = Seconds{1.0 / 3};
  const RunFigures run = figures_of(record, "r");
  ASSERT_THAT(run.cases[0].launches, SizeIs(1));
  EXPECT_EQ(run.cases[0].launches[0].time, Seconds{1.0 / 3});
  EXPECT_EQ(run.cases[0].time, Seconds{1.0 / 3});
}

}  // namespace
}  // namespace linkgain::test

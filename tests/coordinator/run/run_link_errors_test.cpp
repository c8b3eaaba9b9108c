#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/analysis/run_validity.hpp"
#include "run_beside_nvml.hpp"
#include "support/golden.hpp"

namespace linkgain::test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A run of three launches of fake jobs beside NVML's double, whose counters grow in the middle.
class RunWithLinkErrors : public RunBesideNvml {
 protected:
  RunWithLinkErrors() : RunBesideNvml({job(), job()}) {
    bench_.plan.launches = 3;
    bench_.plan.ranks = 2;
    grows_at_ = 3;
  }

  static FakeScript job() {
    FakeScript script;
    script.seconds = 1e-3;
    script.open_time = Seconds{1.0};
    return script;
  }

  void run_with(const std::string& lines) {
    errors_by_then_ = lines;
    execute();
    for (CaseResult& result : bench_.record.cases) {
      for (Sample& sample : result.samples) sample.health = {{40, 300.0, 1980, 0}, {{}, {}, {}, 0}};
    }
  }

  std::string warnings() const {
    std::string text;
    for (const Warning& each : bench_.record.warnings) {
      if (each.code == "link-errors") text += each.text + "\n  " + each.advice + "\n";
    }
    return text;
  }
};

TEST_F(RunWithLinkErrors, NamesLinkAndCounterAndIsUnhealthyWhereThatWasAsked) {
  run_with("0 3 crc_errors 12\n1 3 replays 4\n0 0 pcie_replays 1\n");
  ASSERT_TRUE(bench_.record.link_errors);
  const LinkErrors& errors = *bench_.record.link_errors;
  EXPECT_EQ(errors.readings, 4) << "before the first launch and after each";
  ASSERT_THAT(errors.grown, SizeIs(3));
  EXPECT_GT(errors.grown[0].after_s, 0.0);
  EXPECT_EQ(errors.grown[0].counter, (ErrorCounter{0, ErrorKind::nvlink_crc_errors, 3, 1}));
  EXPECT_EQ(errors.grown[0].growth, 12);
  EXPECT_EQ(judge(bench_.record), ExitCode::unhealthy);
  expect_golden(warnings(), "link_errors.txt");
  bench_.record.settings.require_healthy = false;
  EXPECT_EQ(judge(bench_.record), ExitCode::success) << "a warning else";
}

TEST_F(RunWithLinkErrors, NamesALinkThatGoesDownAndIsUnhealthyWhereThatWasAsked) {
  run_with("0 3 down 1\n");
  ASSERT_THAT(bench_.record.link_errors->grown, SizeIs(1)) << "once, and down until the end";
  EXPECT_EQ(bench_.record.link_errors->grown[0].counter,
            (ErrorCounter{0, ErrorKind::nvlink_outages, 3, 1}));
  EXPECT_EQ(judge(bench_.record), ExitCode::unhealthy);
  expect_golden(warnings(), "link_outage.txt");
}

TEST_F(RunWithLinkErrors, OfALinkWithoutErrorsSaysNothing) {
  run_with("");
  EXPECT_THAT(bench_.record.link_errors->grown, IsEmpty());
  EXPECT_EQ(judge(bench_.record), ExitCode::success);
  EXPECT_EQ(warnings(), "");
}

/// A run that is killed leaves its journal alone.
TEST_F(RunWithLinkErrors, TheJournalHasThem) {
  run_with("0 3 crc_errors 12\n");
  const Record journal = read_record(bench_.journal_path());
  ASSERT_TRUE(journal.link_errors);
  EXPECT_EQ(journal.link_errors->grown, bench_.record.link_errors->grown);
}

TEST_F(RunWithLinkErrors, OfARunThatGoesOnHaveTheTimeSinceItsFirstBegin) {
  grows_at_ = 6;
  run_with("0 3 crc_errors 12\n");
  ASSERT_THAT(bench_.record.link_errors->grown, IsEmpty());
  const double wall = bench_.record.wall_seconds.value();
  end_and_go_on(bench_);
  ASSERT_THAT(bench_.record.link_errors->grown, SizeIs(1));
  EXPECT_GT(bench_.record.link_errors->grown[0].after_s, wall);
}

TEST_F(RunWithLinkErrors, WithoutCountersIsWithoutAWarning) {
  bench_.error_counts = {};
  run_with("");
  EXPECT_FALSE(bench_.record.link_errors);
  EXPECT_EQ(judge(bench_.record), ExitCode::success);
  EXPECT_EQ(warnings(), "");
}

}  // namespace
}  // namespace linkgain::test

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/run/gpu_lookout.hpp"
#include "run_support.hpp"
#include "support/golden.hpp"
#include "support/process_support.hpp"
#include "support/scoped_environment.hpp"

namespace linkgain::test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

/// A run of three launches of fake jobs beside NVML's double, whose counters grow in the middle.
class RunWithLinkErrors : public ::testing::Test {
 protected:
  RunWithLinkErrors() : bench_({job(), job()}) {
    unsetenv("CUDA_VISIBLE_DEVICES");
    bench_.plan.backend = BackendKind::nccl;
    bench_.plan.launches = 3;
    bench_.plan.ranks = 2;
    bench_.error_counts = [this] {
      // Nothing has been read in a run's first reading, and once after each launch.
      if (++readings_ == 3) std::ofstream(file_) << lines_;
      return lookout_->error_counts(Seconds{0.0});
    };
  }

  static FakeScript job() {
    FakeScript script;
    script.seconds = 1e-3;
    script.open_time = Seconds{1.0};
    return script;
  }

  void run_with(const std::string& lines) {
    lines_ = lines;
    lookout_.emplace(bench_.plan, survey_site(std::nullopt));
    bench_.use_of_gpus = [](double) {
      return std::vector<GpuUse>{{0, 0.0, std::vector<GpuProcess>{}, 0}};
    };
    bench_.execute();
    for (CaseResult& result : bench_.record.cases) {
      for (Sample& sample : result.samples) sample.health = {{40, 300.0, 1980, 0}, {{}, {}, {}, 0}};
    }
    bench_.record.settings.require_healthy = true;
  }

  std::string warnings() const {
    std::string text;
    for (const Warning& each : bench_.record.warnings) {
      if (each.code == "link-errors") text += each.text + "\n  " + each.advice + "\n";
    }
    return text;
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "errors";
  ScopedEnvironment library_{"LINKGAIN_NVML_LIBRARY", NVML_DOUBLE};
  ScopedEnvironment scenario_{"LINKGAIN_NVML_SCENARIO", "rtx3090-nv4"};
  ScopedEnvironment errors_{"LINKGAIN_NVML_ERRORS", file_};
  ScopedEnvironment visible_{"CUDA_VISIBLE_DEVICES", ""};
  ScopedEnvironment order_{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"};
  RunBench bench_;
  std::string lines_;
  std::optional<GpuLookout> lookout_;
  int readings_ = 0;
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

TEST_F(RunWithLinkErrors, WithoutCountersIsWithoutAWarning) {
  bench_.error_counts = {};
  run_with("");
  EXPECT_FALSE(bench_.record.link_errors);
  EXPECT_EQ(judge(bench_.record), ExitCode::success);
  EXPECT_EQ(warnings(), "");
}

}  // namespace
}  // namespace linkgain::test

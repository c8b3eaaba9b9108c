#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>

#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/analysis/soak.hpp"
#include "linkgain/process/signals.hpp"
#include "run_beside_nvml.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::Each;
using ::testing::Gt;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kLaunches = 12;
constexpr double kBudget = 240.0;

FakeScript noisy_job() {
  FakeScript script;
  script.seconds = 1e-3;
  script.noise = 2e-3;
  script.open_time = Seconds{0.5};
  return script;
}

/// A soak of fake jobs over a pair and an all-reduce, beside NVML's double.
class Soak : public RunBesideNvml {
 protected:
  Soak() : RunBesideNvml({noisy_job(), noisy_job()}) {
    errors_by_then_ = "0 3 crc_errors 12\n";
    bench_.plan.is_soak = true;
    bench_.plan.launches = kLaunches;
    bench_.plan.budget = Seconds{kBudget};
    bench_.set_cases({1 << 24, 1 << 24});
    bench_.plan.cases[1].operation = OperationKind::send_recv;
    bench_.plan.cases[1].pair = Pair{0, 1, true};
    for (int rank = 0; rank < 2; ++rank) {
      GpuInfo gpu;
      gpu.cuda_index = rank;
      bench_.machine.ranks.push_back({rank, "node1", 10 + rank, "", gpu, {}});
    }
  }

  void run() {
    execute();
    for (CaseResult& result : bench_.record.cases) {
      for (Sample& sample : result.samples) {
        for (Health& each : sample.health) each.clock_event_reasons = 0;
      }
    }
  }

  /// Slows variant 0 down from the launch on.
  void slow_down(int launch, const std::string& case_of_it, double seconds) {
    for (int each = 0; each < kLaunches; ++each) {
      FakeScript script = noisy_job();
      script.seed = static_cast<unsigned>(each) + 1;
      if (each >= launch) script.seconds_of_case[case_of_it] = seconds;
      bench_.script_of_launch[{0, each}] = script;
    }
  }

  SoakSummary summary() const { return soak_summary(bench_.record).value(); }
};

TEST_F(Soak, LaunchesEvenlyUntilTheBudgetIsUsedUp) {
  run();
  const std::vector<double>& begins = bench_.record.launch_begins_s;
  ASSERT_THAT(begins, SizeIs(kLaunches));
  for (std::size_t i = 1; i < begins.size(); ++i) {
    EXPECT_NEAR(begins[i] - begins[i - 1], kBudget / kLaunches, 1.5) << i;
  }
  EXPECT_LE(bench_.clock.now().value, kBudget);
  EXPECT_EQ(bench_.record.settings.launches, kLaunches);
  EXPECT_EQ(judge(bench_.record), ExitCode::success);
  EXPECT_THAT(summary().degraded, IsEmpty());
  EXPECT_THAT(parse_record(to_json(bench_.record), "").launch_begins_s, SizeIs(kLaunches));
}

/// Measures launches one after the other, without a pause, as far as they fit in.
TEST_F(Soak, OfLaunchesThatTakeLongHasFewerOfThem) {
  constexpr double kShort = 15.0;
  bench_.plan.budget = Seconds{kShort};
  run();
  const int launches = count_launches(bench_.record);
  EXPECT_THAT(launches, Gt(2));
  EXPECT_LT(launches, kLaunches);
  EXPECT_EQ(bench_.record.settings.launches, launches);
  EXPECT_LE(bench_.clock.now().value, kShort + 1.0) << "looking for neighbours comes first";
  EXPECT_EQ(judge(bench_.record), ExitCode::success);
  for (const Warning& each : bench_.record.warnings) {
    EXPECT_NE(each.code, "fewer-launches");
    EXPECT_NE(each.code, "budget-used-up");
  }
}

/// Resumes a soak that was ended between two launches.
TEST_F(Soak, ThatGoesOnKeepsItsLaunchesApart) {
  run();
  constexpr int kKept = 5;
  bench_.record.status = RunStatus::interrupted;
  bench_.record.wall_seconds = kKept * kBudget / kLaunches;
  bench_.record.launch_begins_s.resize(kKept);
  for (CaseResult& result : bench_.record.cases) {
    std::erase_if(result.samples, [](const Sample& sample) { return sample.launch >= kKept; });
  }
  run();
  EXPECT_EQ(bench_.record.status, RunStatus::complete);
  const std::vector<double>& begins = bench_.record.launch_begins_s;
  ASSERT_THAT(begins, SizeIs(kLaunches));
  for (std::size_t i = 1; i < begins.size(); ++i) {
    EXPECT_NEAR(begins[i] - begins[i - 1], kBudget / kLaunches, 1.5) << i;
  }
}

TEST_F(Soak, ThatIsKilledAndGoesOnHasTheBeginOfEveryLaunch) {
  constexpr int kKilled = 5;
  bench_.before_start = [](int, int launch) {
    if (launch == kKilled) throw Interrupted(SIGKILL);
  };
  EXPECT_THROW(run(), Interrupted);
  bench_.record = read_record(bench_.journal_path());
  ASSERT_THAT(bench_.record.launch_begins_s, SizeIs(kKilled));
  const double earlier = bench_.record.wall_seconds.value();
  EXPECT_GE(earlier, bench_.record.launch_begins_s.back());
  bench_.before_start = {};
  run();
  const std::vector<double>& begins = bench_.record.launch_begins_s;
  ASSERT_THAT(begins, SizeIs(kLaunches));
  EXPECT_TRUE(std::ranges::is_sorted(begins));
  EXPECT_GT(begins[kKilled], earlier) << "it was measured again";
  EXPECT_THAT(parse_record(to_json(bench_.record), "").launch_begins_s, SizeIs(kLaunches));
}

/// Covers a soak that lost a job.
TEST_F(Soak, ThatMeasuresALaunchAgainHasItWithTheErrorsOfItsTime) {
  constexpr int kAgain = 2;
  grows_at_ = (1 + kLaunches) + 2;  // after it, in the second part
  run();
  bench_.record.status = RunStatus::job_lost;
  for (CaseResult& result : bench_.record.cases) {
    std::erase_if(result.samples, [](const Sample& sample) { return sample.launch == kAgain; });
  }
  const double earlier = bench_.record.wall_seconds.value();
  run();
  EXPECT_GT(bench_.record.launch_begins_s[kAgain], earlier);
  for (const SoakRow& row : summary().rows) EXPECT_EQ(row.errors, row.launch == kAgain ? 12 : 0);
}

/// Has nothing yet of a launch that was to be measured again.
TEST_F(Soak, ThatIsInterruptedBeforeItGoesOnStaysReadable) {
  constexpr int kAgain = 2;
  run();
  const std::vector<double> begins = bench_.record.launch_begins_s;
  bench_.record.status = RunStatus::job_lost;
  bench_.record.exit_code = static_cast<int>(ExitCode::incomplete);
  for (CaseResult& result : bench_.record.cases) {
    std::erase_if(result.samples, [](const Sample& sample) { return sample.launch == kAgain; });
  }
  bench_.before_start = [](int, int) { throw Interrupted(SIGTERM); };
  EXPECT_THROW(run(), Interrupted);
  EXPECT_EQ(bench_.record.launch_begins_s, begins);
}

/// Admits launches by how long the longest was.
TEST_F(Soak, MeasuresAllCasesOfALaunchThatTakesLongerThanItsBudget) {
  constexpr double kShort = 15.0;
  bench_.plan.budget = Seconds{kShort};
  for (int launch = 2; launch < kLaunches; ++launch) {
    FakeScript script = noisy_job();
    script.open_time = Seconds{6.0};
    bench_.script_of_launch[{0, launch}] = script;
  }
  run();
  EXPECT_GT(bench_.clock.now().value, kShort + 1.0);
  EXPECT_EQ(bench_.record.settings.launches, 3);
  for (const CaseResult& result : bench_.record.cases) {
    for (const VariantResult& variant : result.variants) {
      EXPECT_FALSE(variant.skipped) << case_name(result.definition);
    }
    EXPECT_EQ(std::ranges::max(result.samples, {}, &Sample::launch).launch, 2);
  }
}

/// Lets it go on as the run of as many launches that it was.
TEST_F(Soak, ThatLostAJobKeepsTheNumberOfItsLaunches) {
  bench_.plan.budget = Seconds{15.0};
  bench_.before_start = [](int variant, int launch) {
    if (variant == 1 && launch == 1) throw JobLost("cannot start", "try later");
  };
  run();
  EXPECT_EQ(bench_.record.status, RunStatus::job_lost);
  EXPECT_LT(count_launches(bench_.record), kLaunches);
  EXPECT_EQ(bench_.record.settings.launches, kLaunches);
}

/// Survives a launch in which neither variant starts.
TEST_F(Soak, NamesVariantsThatNotAllLaunchesHave) {
  bench_.before_start = [](int variant, int launch) {
    if (launch == 4 || (variant == 1 && launch == 7)) throw JobLost("cannot start", "try later");
  };
  run();
  EXPECT_EQ(bench_.record.status, RunStatus::job_lost);
  EXPECT_THAT(bench_.record.launch_begins_s, SizeIs(kLaunches));
  expect_golden(soak_sentence(summary()) + "\n", "soak_missing.txt");
}

TEST_F(Soak, NamesTheLinkWhoseErrorsGrow) {
  grows_at_ = 7;
  run();
  const SoakSummary soak = summary();
  EXPECT_THAT(soak.degraded, SizeIs(1));
  EXPECT_EQ(soak.rows[5].errors, 12);
  EXPECT_EQ(soak.rows[4].errors, 0);
  expect_golden(soak_sentence(soak) + "\n", "soak_errors.txt");
  EXPECT_EQ(judge(bench_.record), ExitCode::unhealthy);
}

TEST_F(Soak, NamesThePairWhoseTimeDrifts) {
  slow_down(8, case_name(bench_.plan.cases[1]), 1.3e-3);
  run();
  const SoakSummary soak = summary();
  ASSERT_THAT(soak.degraded, SizeIs(1));
  for (const SoakColumn& each : soak.columns) {
    EXPECT_EQ(each.drift.has_value(), each.definition.pair.has_value() && each.variant == "v0");
    if (!each.drift) continue;
    EXPECT_EQ(each.drift->launch, 8);
    EXPECT_NEAR(each.drift->ratio, 1.3, 0.01);
  }
  Situations texts;
  texts.add("the answer", soak_sentence(soak));
  EXPECT_EQ(judge(bench_.record), ExitCode::unhealthy);
  for (const Warning& each : bench_.record.warnings) {
    if (each.code == "soak-drift") texts.add("the warning", each.text);
  }
  expect_golden(texts.text(), "soak_drift.txt");
}

/// Covers launches measured again after all others, when their pair was slower.
TEST_F(Soak, FindsADriftInTheOrderOfTime) {
  slow_down(kLaunches, case_name(bench_.plan.cases[1]), 1e-3);
  run();
  std::vector<double>& begins = bench_.record.launch_begins_s;
  for (int launch = 1; launch <= 4; ++launch) {
    begins[static_cast<std::size_t>(launch)] = begins.back() + launch;
    for (Sample& sample : bench_.record.cases[1].samples) {
      if (sample.launch != launch || sample.variant != 0) continue;
      for (std::optional<Seconds>& time : sample.times) time->value *= 1.3;
    }
  }
  for (const SoakColumn& each : summary().columns) {
    EXPECT_EQ(each.drift.has_value(), each.definition.pair.has_value() && each.variant == "v0");
    EXPECT_EQ(each.drift.value_or(Drift{1}).launch, 1);
  }
}

/// Gives each line of the journal its launch's samples alone.
TEST_F(Soak, HasAJournalThatGrowsWithTheSamples) {
  run();
  const std::uintmax_t whole = std::filesystem::file_size(bench_.journal_path());
  EXPECT_LT(whole, 4 * to_json(bench_.record).size() + std::size_t{kLaunches} * 20000);
  Record journal = read_record(bench_.journal_path());
  EXPECT_TRUE(same_but_for_order(journal.cases, bench_.record.cases) ||
              count_samples(journal) == count_samples(bench_.record));
  EXPECT_EQ(journal.launch_begins_s, bench_.record.launch_begins_s);
}

TEST_F(Soak, OfARunWithoutOneThereIsNothing) {
  bench_.plan.is_soak = false;
  run();
  EXPECT_FALSE(soak_summary(bench_.record));
}

}  // namespace
}  // namespace linkgain::test

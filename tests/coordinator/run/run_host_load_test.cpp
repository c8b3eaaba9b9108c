#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/telemetry/host.hpp"
#include "run_support.hpp"
#include "support/golden.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;

FakeScript job_of_two_ranks() {
  FakeScript script;
  script.seconds = 1e-3;
  script.open_time = Seconds{1.0};
  script.hello.machine.ranks.resize(2);
  for (int i = 0; i < 2; ++i) {
    script.hello.machine.ranks[static_cast<std::size_t>(i)].rank = i;
    script.hello.machine.ranks[static_cast<std::size_t>(i)].host = host_name();
    script.hello.machine.ranks[static_cast<std::size_t>(i)].pid = 100 + i;
  }
  return script;
}

/// Two ranks by MPI that work all the time, on as many processors as this host has.
class RunOnAHost : public ::testing::Test {
 protected:
  RunOnAHost() : bench_({job_of_two_ranks(), job_of_two_ranks()}) {
    bench_.plan.launches = 2;
    bench_.set_cases({1024, 65536});
  }

  /// Rates a second: others' processors, by the time since the run's begin, and those below.
  void run_beside(const std::function<double(double)>& others) {
    double last = 0.0;
    HostLoad load{0.0, 0.0, 0.0, 0.0, 0};
    bench_.host_load = [=, this](double now, const std::vector<std::int64_t>& pids) mutable {
      const double passed = now - last;
      last = now;
      const double own = pids.empty() ? 0.0 : 2.0;
      *load.busy_s += (own + others(now)) * passed;
      *load.pressure_s += pressure_ * passed;
      *load.stolen_s += stolen_ * passed;
      load.own_s += own * passed;
      load.involuntary_switches += pids.empty() ? 0 : std::llround(switches_ * passed);
      return load;
    };
    bench_.execute();
  }

  std::string warnings() const {
    std::string text;
    for (const Warning& warning : bench_.record.warnings) {
      text += warning.code + ": " + warning.text + "\n";
    }
    return text;
  }

  int count_disturbed() const {
    int count = 0;
    for (const CaseResult& result : bench_.record.cases) {
      for (const VariantResult& each : result.variants) count += each.disturbed_samples;
    }
    return count;
  }

  RunBench bench_;
  double pressure_ = 0.01;
  double stolen_ = 0.0;
  double switches_ = 5.0;
  const double all_ = usable_processors();
};

TEST_F(RunOnAHost, AQuietOneIsWithoutAlarm) {
  run_beside([](double) { return 0.1; });
  EXPECT_EQ(warnings(), "");
  EXPECT_EQ(count_disturbed(), 0);
}

TEST_F(RunOnAHost, BusyBeforeTheStartAndAfterIsNamedAndMarked) {
  run_beside([this](double) { return all_ - 0.5; });
  EXPECT_THAT(warnings(), HasSubstr("busy-processors: "));
  EXPECT_EQ(count_disturbed(), count_samples(bench_.record));
}

TEST_F(RunOnAHost, BusyHalfwayMarksTheSamplesFromThere) {
  run_beside([this](double now) { return now < 4.0 ? 0.0 : all_ - 0.5; });
  EXPECT_EQ(warnings(), "");
  EXPECT_GT(count_disturbed(), 0);
  EXPECT_LT(count_disturbed(), count_samples(bench_.record));
}

TEST_F(RunOnAHost, OfARunOnGpusIsOnlyWarnedOf) {
  bench_.plan.backend = BackendKind::nccl;
  run_beside([this](double) { return all_ - 0.5; });
  EXPECT_THAT(warnings(), HasSubstr("busy-processors: "));
  EXPECT_EQ(count_disturbed(), 0);
}

TEST_F(RunOnAHost, PressureStealAndSwitchesAreNamed) {
  pressure_ = 0.3;
  stolen_ = 0.05;
  switches_ = 240.0;
  run_beside([](double) { return 0.0; });
  expect_golden(warnings(), "host_load.txt");
}

}  // namespace
}  // namespace linkgain::test

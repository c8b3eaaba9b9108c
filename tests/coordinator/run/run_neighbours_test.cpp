#include <gmock/gmock.h>

#include <array>
#include <fstream>
#include <tuple>

#include "linkgain/analysis/run_validity.hpp"
#include "linkgain/record/warning.hpp"
#include "linkgain/run/world.hpp"
#include "linkgain/telemetry/host.hpp"
#include "run_support.hpp"
#include "support/golden.hpp"
#include "support/scoped_environment.hpp"

namespace linkgain::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

constexpr std::int64_t kOwnPid = 100;
const GpuProcess kOwn{kOwnPid, "linkgain-bench", std::int64_t{1} << 30};
const GpuProcess kTheirs{4711, "python3", std::int64_t{10} << 30};

FakeScript own_job() {
  FakeScript script;
  script.seconds = 1e-3;
  script.open_time = Seconds{1.0};
  script.hello.machine.ranks.resize(1);
  script.hello.machine.ranks[0].pid = static_cast<int>(kOwnPid);
  return script;
}

/// Two variants on two GPUs, of which the test says what others do: a run of about half a minute.
class RunBesideNeighbours : public ::testing::Test {
 protected:
  RunBesideNeighbours() : bench_({own_job(), own_job()}) {
    bench_.plan.backend = BackendKind::nccl;
    bench_.plan.launches = 4;
    bench_.set_cases({1024, 65536, 1 << 20, 1 << 24});
  }

  /// Passes `gpu_0` the time since the run's begin.
  void run_beside(std::function<GpuUse(double)> gpu_0) {
    bench_.use_of_gpus = [this, gpu_0 = std::move(gpu_0)](double now) {
      listed_.assign(started() && !hidden_ ? 1 : 0, kOwn);
      GpuUse first = gpu_0(now);
      first.gpu = 0;
      return std::vector<GpuUse>{first, {1, 0.0, listed_, 0}};
    };
    bench_.execute();
    ASSERT_TRUE(bench_.record.neighbours);
  }

  /// Lists our own process and those that are beside it.
  std::vector<GpuProcess> listed(const std::vector<GpuProcess>& more = {}) const {
    std::vector<GpuProcess> all = listed_;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  bool started() const { return !bench_.started.empty(); }
  const Neighbours& found() const { return *bench_.record.neighbours; }

  int count_disturbed() const {
    int count = 0;
    for (const CaseResult& result : bench_.record.cases) {
      for (const VariantResult& each : result.variants) count += each.disturbed_samples;
    }
    return count;
  }

  std::string warnings() const {
    std::string text;
    for (const Warning& warning : bench_.record.warnings) {
      text += warning.code + ": " + warning.text + "\n";
    }
    return text;
  }

  ExitCode judged() {
    Record record = bench_.record;
    record.settings.require_healthy = true;
    for (CaseResult& result : record.cases) {
      for (Sample& sample : result.samples) sample.health = {{40, 300.0, 1980, 0}, {{}, {}, {}, 0}};
    }
    return judge(record);
  }

  RunBench bench_;
  bool hidden_ = false;  ///< the driver does not list our own processes

 private:
  std::vector<GpuProcess> listed_;
};

TEST_F(RunBesideNeighbours, AQuietMachineIsWithoutAlarm) {
  run_beside([&](double) { return GpuUse{0, 0.0, listed(), 0}; });
  EXPECT_THAT(found().seen, IsEmpty());
  EXPECT_EQ(warnings(), "");
  EXPECT_EQ(count_disturbed(), 0);
  EXPECT_EQ(judged(), ExitCode::success);
  EXPECT_GT(found().looks, 10);
  EXPECT_GT(found().idle_windows, 2) << "before the start, on the way and at the end";
}

TEST_F(RunBesideNeighbours, OfARunThatGoesOnAreThoseOfAllItsParts) {
  bool came = false;
  run_beside([&](double) { return GpuUse{0, 0.0, came ? listed({kTheirs}) : listed(), 0}; });
  const Neighbours earlier = found();
  const double wall = bench_.record.wall_seconds.value();
  came = true;
  end_and_go_on(bench_);
  EXPECT_GT(found().looks, earlier.looks + 10);
  EXPECT_GT(found().idle_windows, earlier.idle_windows + 2);
  EXPECT_GT(found().cost_s, earlier.cost_s + 1.0);
  ASSERT_THAT(found().seen, testing::SizeIs(1));
  EXPECT_GT(found().seen[0].after_s.value(), wall) << "before anything of this part was started";
}

TEST_F(RunBesideNeighbours, OfALaterPartDisturbedNothingOfAnEarlierOne) {
  constexpr int kLast = 3;
  run_beside([&](double) { return GpuUse{0, 0.0, listed(), 0}; });
  bench_.record.status = RunStatus::interrupted;
  for (CaseResult& result : bench_.record.cases) {
    std::erase_if(result.samples, [](const Sample& sample) { return sample.launch == kLast; });
  }
  bench_.started.clear();
  run_beside([&](double) { return GpuUse{0, 97.0, listed({kTheirs}), 0}; });
  for (const CaseResult& result : bench_.record.cases) {
    for (const Sample& each : result.samples) EXPECT_EQ(each.disturbed, each.launch == kLast);
  }
}

TEST_F(RunBesideNeighbours, WindowsAndLooksTakeLittle) {
  run_beside([&](double) {
    bench_.clock.advance(Seconds{0.002});
    return GpuUse{0, 0.0, std::vector<GpuProcess>{}, 0};
  });
  const double run = bench_.clock.now().value - 1.0;
  EXPECT_LT(found().cost_s - 1.0, 0.05 * run);
}

TEST_F(RunBesideNeighbours, WhoKeepsAGpuBusyIsNamedBeforeAnythingIsStarted) {
  int started_when_named = -1;
  bench_.before_start = [&](int, int) {
    if (started_when_named < 0) started_when_named = static_cast<int>(found().seen.size());
  };
  run_beside([&](double) { return GpuUse{0, 97.0, listed({kTheirs}), 0}; });
  EXPECT_EQ(started_when_named, 1);
  expect_golden(warnings(), "busy_gpu.txt");
  EXPECT_EQ(count_disturbed(), count_samples(bench_.record)) << "every one";
  EXPECT_EQ(judged(), ExitCode::unhealthy);
}

TEST_F(RunBesideNeighbours, WhoComesHalfwayIsNamedAndSamplesBeforeStayUnmarked) {
  double came = 0.0;
  int before = 0;
  run_beside([&](double now) {
    if (now < 15.0) return GpuUse{0, 0.0, listed(), 0};
    if (came == 0.0) before = count_samples(bench_.record);
    came = came == 0.0 ? now : came;
    return GpuUse{0, 97.0, listed({kTheirs}), 0};
  });
  ASSERT_THAT(found().seen, testing::SizeIs(1));
  EXPECT_NEAR(found().seen[0].after_s.value_or(0.0), came, 3.0);
  EXPECT_THAT(found().seen[0].busy_percent, Optional(97.0));
  EXPECT_THAT(found().seen[0].processes, ElementsAre(kTheirs));
  EXPECT_THAT(warnings(), HasSubstr("(pid 4711 python3)"));
  const int disturbed = count_disturbed();
  EXPECT_GE(disturbed, count_samples(bench_.record) - before) << "all from then on";
  EXPECT_LT(disturbed, count_samples(bench_.record));
  EXPECT_EQ(judged(), ExitCode::unhealthy);
}

/// Serves readers of a killed run's journal.
TEST_F(RunBesideNeighbours, TheJournalHasMarksThatAreSetLate) {
  run_beside([&](double now) {
    const bool there = now > 15.0 && now < 25.0;
    return GpuUse{0, there ? 97.0 : 0.0, there ? listed({kTheirs}) : listed(), 0};
  });
  ASSERT_GT(count_disturbed(), 0);
  const Record journal = read_record(bench_.journal_path());
  ASSERT_TRUE(journal.neighbours);
  EXPECT_EQ(journal.neighbours->seen, found().seen);
  for (std::size_t i = 0; i < journal.cases.size(); ++i) {
    const auto marks_of = [](const CaseResult& result) {
      std::vector<bool> marks;
      for (const Sample& sample : result.samples) marks.push_back(sample.disturbed);
      return marks;
    };
    EXPECT_EQ(marks_of(journal.cases[i]), marks_of(bench_.record.cases[i])) << i;
    EXPECT_EQ(journal.cases[i].variants[0].disturbed_samples,
              bench_.record.cases[i].variants[0].disturbed_samples);
  }
}

TEST_F(RunBesideNeighbours, WhoLeavesMarksOnlyTheSamplesBefore) {
  run_beside([&](double now) {
    const bool there = now < 8.0;
    return GpuUse{0, there ? 97.0 : 0.0, there ? listed({kTheirs}) : listed(), 0};
  });
  EXPECT_THAT(found().seen, testing::SizeIs(1));
  EXPECT_GT(count_disturbed(), 0);
  EXPECT_LT(count_disturbed(), count_samples(bench_.record));
  EXPECT_FALSE(bench_.record.cases.back().samples.back().disturbed);
}

TEST_F(RunBesideNeighbours, AnIdleProcessIsToldOfAndMarksNothing) {
  run_beside([&](double) { return GpuUse{0, 0.0, listed({kTheirs}), 0}; });
  expect_golden(warnings(), "gpu_in_use.txt");
  EXPECT_EQ(count_disturbed(), 0);
  EXPECT_EQ(judged(), ExitCode::unhealthy) << "it may work at any time";
}

TEST_F(RunBesideNeighbours, ADesktopsFewPercentAreNoAlarm) {
  run_beside([&](double now) {
    return GpuUse{0, std::fmod(now, 1.0) < 0.5 ? 6.0 : 1.0, listed(), 0};
  });
  EXPECT_EQ(warnings(), "");
}

/// Ignores what an earlier run left in the driver's sampling period.
TEST_F(RunBesideNeighbours, WorkThatHasJustEndedIsNoAlarm) {
  run_beside([&](double now) { return GpuUse{0, now < 0.95 ? 100.0 : 0.0, listed(), 0}; });
  EXPECT_EQ(warnings(), "");
}

/// Covers a container, in which the driver lists nobody.
TEST_F(RunBesideNeighbours, OurOwnWorkIsNoAlarmWhereProcessesAreHidden) {
  hidden_ = true;
  double worked = 0.0;
  int seen = 0;
  run_beside([&](double now) {
    // The driver's period of 1 s still holds the batch before.
    const int samples = count_samples(bench_.record);
    if (samples != seen) worked = now;
    seen = samples;
    const bool fresh = samples > 0 && now - worked < 1.0;
    return GpuUse{0, fresh ? 100.0 : 0.0, std::vector<GpuProcess>{}, 0};
  });
  EXPECT_EQ(warnings(), "");
  EXPECT_GT(found().idle_windows, 1);
}

/// Leaves a run of 25 s time for one window or two at 5 %, however long the driver's period is.
TEST_F(RunBesideNeighbours, WhoComesHalfwayThroughAShortRunIsSeenWhereProcessesAreHidden) {
  for (const double period : {1.0 / 6, 0.5, 1.0}) {
    for (const double came : {10.5, 12.5, 14.0}) {
      RunBench bench({own_job(), own_job()});
      bench.plan.backend = BackendKind::nccl;
      bench.plan.launches = 3;
      bench.set_cases({1024, 65536, 1 << 20, 1 << 24});
      double worked = -1.0;
      int seen = 0;
      bench.use_of_gpus = [&](double now) {
        const int samples = count_samples(bench.record);
        if (samples != seen) worked = now;
        seen = samples;
        const bool busy = now >= came || (samples > 0 && now - worked < period);
        return std::vector<GpuUse>{{0, busy ? 97.0 : 0.0, std::vector<GpuProcess>{}, 0}};
      };
      bench.execute();
      EXPECT_NEAR(bench.clock.now().value, 26.0, 3.0);
      ASSERT_EQ(bench.record.neighbours->seen.size(), 1U) << period << " " << came;
      EXPECT_LT(came, bench.record.neighbours->seen[0].after_s.value_or(0.0));
      EXPECT_EQ(bench.record.warnings.at(0).code, "busy-gpu");
    }
  }
}

TEST_F(RunBesideNeighbours, UtilizationDecidesWhereProcessesAreHidden) {
  hidden_ = true;
  run_beside([&](double now) {
    return GpuUse{0, now > 15.0 ? 90.0 : 0.0, std::vector<GpuProcess>{}, 0};
  });
  ASSERT_THAT(found().seen, testing::SizeIs(1));
  EXPECT_THAT(found().seen[0].processes, IsEmpty());
}

/// Counts processes of another namespace, whose ids do not tell which are ours.
TEST_F(RunBesideNeighbours, OneMoreProcessOfAnotherNamespaceIsLookedAtOnce) {
  hidden_ = true;
  double came = 0.0;
  run_beside([&](double now) {
    std::vector<GpuProcess> processes;
    if (started()) processes = {{900, "", {}}, {901, "", {}}};
    if (now < 12.5) return GpuUse{0, 0.0, processes, 0};
    came = came == 0.0 ? now : came;
    processes.push_back({902, "", {}});
    return GpuUse{0, 97.0, processes, 0};
  });
  ASSERT_THAT(found().seen, testing::SizeIs(1));
  EXPECT_NEAR(found().seen[0].after_s.value_or(0.0), came, 3.0);
}

TEST_F(RunBesideNeighbours, OurOwnOfAnotherNamespaceAreNoAlarm) {
  hidden_ = true;
  run_beside([&](double) {
    return GpuUse{0, 0.0, std::vector<GpuProcess>(started() ? 2 : 0, {900, "", {}}), 0};
  });
  EXPECT_EQ(warnings(), "");
}

TEST_F(RunBesideNeighbours, CopiesOverNvlinkAreSeenToo) {
  run_beside([&](double now) {
    return GpuUse{0, 0.0, std::vector<GpuProcess>{},
                  static_cast<std::int64_t>(50e9 * now)};  // copy engines run no kernel
  });
  expect_golden(warnings(), "busy_nvlink.txt");
}

TEST_F(RunBesideNeighbours, WhereTheDriverTellsNothingNoneIsSaidToBeAbsent) {
  bench_.use_of_gpus = [](double) { return std::vector<GpuUse>{{0, {}, {}, {}}, {1, {}, {}, {}}}; };
  bench_.execute();
  EXPECT_EQ(found().looks + found().idle_windows, 0);
  EXPECT_NE(found().not_looked, "");
}

TEST_F(RunBesideNeighbours, WithoutNvmlTheRecordSaysWhy) {
  bench_.execute();
  ASSERT_TRUE(bench_.record.neighbours);
  EXPECT_EQ(found().looks, 0);
  EXPECT_EQ(found().not_looked, "no NVML here");
  EXPECT_EQ(warnings(), "");
}

/// Beside the NVML double: what it is told is what the run looks at.
class GpuLookoutTest : public ::testing::Test {
 protected:
  GpuLookoutTest() {
    unsetenv("CUDA_VISIBLE_DEVICES");
    unsetenv("CUDA_DEVICE_ORDER");
    plan_.backend = BackendKind::nccl;
    plan_.ranks = 2;
  }
  ~GpuLookoutTest() override { std::filesystem::remove(file_); }

  std::vector<GpuUse> look(const std::string& use) const {
    std::ofstream(file_) << use;
    return GpuLookout(plan_, survey_site(std::nullopt)).look();
  }

  std::string file_ = std::filesystem::temp_directory_path() / "linkgain_use_of_gpus";
  ScopedEnvironment library_{"LINKGAIN_NVML_LIBRARY", NVML_DOUBLE};
  ScopedEnvironment scenario_{"LINKGAIN_NVML_SCENARIO", "h200x4"};
  ScopedEnvironment use_{"LINKGAIN_NVML_USE", file_};
  ScopedEnvironment visible_{"CUDA_VISIBLE_DEVICES", ""};
  ScopedEnvironment order_{"CUDA_DEVICE_ORDER", ""};
  RunPlan plan_;
};

TEST_F(GpuLookoutTest, SeesTheGpusOfTheRunAlone) {
  unsetenv("CUDA_VISIBLE_DEVICES");
  const auto uses = look("1 97 4711:1024:python3\n3 50\n");
  ASSERT_THAT(uses, testing::SizeIs(2));
  EXPECT_EQ(uses[0].gpu, 0);
  EXPECT_THAT(uses[0].busy_percent, Optional(0.0));
  EXPECT_THAT(uses[1].busy_percent, Optional(97.0));
  EXPECT_THAT(uses[1].processes.value(), ElementsAre(GpuProcess{4711, "python3", 1 << 30}));
}

TEST_F(GpuLookoutTest, TakesTheirPlaceInCudasOrder) {
  const ScopedEnvironment visible("CUDA_VISIBLE_DEVICES", "3,1,0");
  plan_.gpus = {0, 2};
  const auto uses = look("0 10\n1 20\n3 40\n");
  ASSERT_THAT(uses, testing::SizeIs(2));
  EXPECT_THAT(uses[0].busy_percent, Optional(40.0));
  EXPECT_EQ(uses[1].gpu, 2);
  EXPECT_THAT(uses[1].busy_percent, Optional(10.0));
}

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

  /// Takes rates a second: others' processors, by the time since the run's begin, and those below.
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
  stolen_ = 0.8;
  switches_ = 240.0;
  run_beside([](double) { return 0.0; });
  expect_golden(warnings(), "host_load.txt");
}

TEST_F(RunOnAHost, IsJudgedOfAnInterruptedRunToo) {
  pressure_ = 0.3;
  stolen_ = 0.8;
  switches_ = 240.0;
  const std::string cut = case_name(bench_.plan.cases.back());
  FakeScript& script = bench_.script_of_launch[{1, 1}];
  script = job_of_two_ranks();
  script.failures = {{.command = "run", .kind = FakeFailure::Kind::interrupt, .case_name = cut}};
  EXPECT_THROW(run_beside([](double) { return 0.0; }), Interrupted);
  expect_golden(warnings(), "host_load.txt");
}

TEST_F(RunOnAHost, WhatAHypervisorsOwnWorkTakesIsNoWarning) {
  stolen_ = 0.35;
  run_beside([](double) { return 0.0; });
  EXPECT_EQ(warnings(), "");
}

/// Takes pressure, stolen time and switches.
class LoadOfAHost : public RunOnAHost, public testing::WithParamInterface<std::array<double, 3>> {};

TEST_P(LoadOfAHost, DisturbsTheRunForEveryCommandIfItIsWorthAWarning) {
  std::tie(pressure_, stolen_, switches_) = std::tuple_cat(GetParam());
  run_beside([](double) { return 0.0; });
  drop_derived(bench_.record);
  EXPECT_EQ(disturbed_by(bench_.record.warnings), "host-load");
}

INSTANTIATE_TEST_SUITE_P(OneCause, LoadOfAHost,
                         testing::Values(std::array{0.8, 0.0, 5.0}, std::array{0.01, 0.8, 5.0},
                                         std::array{0.01, 0.0, 240.0}));

}  // namespace
}  // namespace linkgain::test

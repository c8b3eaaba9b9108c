#include <csignal>

#include "harmed_run.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

using testing::Combine;
using testing::Values;
using testing::WithParamInterface;

class RunInterrupt : public HarmedRun, public WithParamInterface<By> {
 protected:
  RunInterrupt() : HarmedRun(GetParam()) {}
};

INSTANTIATE_TEST_SUITE_P(By, RunInterrupt, Values(By::mpirun, By::local));

/// A run whose coordinator is killed.
class KilledRun : public HarmedRun {
 protected:
  using HarmedRun::HarmedRun;

  static constexpr double kTimeout = 4.0;

  /// Expects that jobs, which cannot end by themselves, are gone soon, and their memory.
  void kill_and_expect_nothing_left(const Program& program) const {
    const Words segments = folders_of_segments(program);
    EXPECT_EQ(segments.empty(), by_ == By::local);
    program.signal(SIGKILL);
    EXPECT_TRUE(comes_true([&] { return program.processes().empty(); }, kSoon))
        << program.processes().size() << " left";
    for (const std::string& each : segments) EXPECT_FALSE(std::filesystem::exists(each)) << each;
  }

 private:
  static constexpr double kSoon = kTimeout + 5.0;
};

class KilledRunOfFault : public KilledRun, public WithParamInterface<std::tuple<By, const char*>> {
 protected:
  KilledRunOfFault() : KilledRun(std::get<By>(GetParam())) {}
};

class RunSignal : public HarmedRun, public WithParamInterface<std::tuple<By, int>> {
 protected:
  RunSignal() : HarmedRun(std::get<By>(GetParam())) {}
};

TEST_P(RunSignal, KeepsTheRecordAndLeavesNothing) {
  const int signal = std::get<int>(GetParam());
  const Outcome outcome =
      with_status(128 + signal,
                  run_and_harm(
                      long_run({}), [=](const Program& program) { program.signal(signal); }, 20.0));
  EXPECT_LT(outcome.seconds, 5.0 * slowdown());
  const Json record = read_record(folder_);
  EXPECT_EQ(record.at("status"), "interrupted");
  EXPECT_EQ(record.at("exit_code"), 128 + signal);
  EXPECT_GT(record.at("cases").back().at("variants")[0].at("busbw_gb_per_s"), 0.0);
  EXPECT_GE(samples_of(record, 0), 4U);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out" / "journal.jsonl"));
  EXPECT_THAT(outcome.output, HasSubstr("Operation "));
}

/// Leaves SIGTERM, SIGHUP and SIGUSR1 to signals_program_test, which has SIGINT, too.
INSTANTIATE_TEST_SUITE_P(Signals, RunSignal,
                         Combine(Values(By::mpirun, By::local),
                                 Values(SIGINT, SIGQUIT, SIGUSR2, SIGALRM, SIGXCPU)));

/// Allows no twelve seconds for twelve mpiruns, each of which takes about one to end.
TEST_P(RunInterrupt, ByASignalEndsAllJobsAtOnce) {
  const Outcome outcome = with_status(
      128 + SIGINT,
      run_and_harm(
          long_run({}, 6), [](const Program& program) { program.signal(SIGINT); }, 30.0));
  EXPECT_LT(outcome.seconds, 6.0 * slowdown());
}

TEST_P(RunInterrupt, AnInterruptWithTheJobsOfThreeLaunchesLeavesNothing) {
  const Outcome outcome = run_and_harm(
      long_run({}, 3),
      [this](const Program& program) {
        EXPECT_THAT(launchers_of(program), SizeIs(6));
        program.signal(SIGINT);
      },
      20.0);
  EXPECT_EQ(outcome.status, 128 + SIGINT) << outcome.error;
  EXPECT_LT(outcome.seconds, 10.0 * slowdown());
  const Json record = read_record(folder_);
  EXPECT_EQ(record.at("status"), "interrupted");
  EXPECT_GE(samples_of(record, 0), 4U);
}

TEST_P(RunInterrupt, AnInterruptWhileTheJobsStartLeavesNothing) {
  Program program(request(long_run({})));
  ASSERT_TRUE(comes_true([&] { return !launchers_of(program).empty(); }, 30.0));
  program.signal(SIGINT);
  const double start = now();
  const Outcome outcome = with_status(128 + SIGINT, program.finish(20.0));
  EXPECT_LT(now() - start, 10.0 * slowdown());
  EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
  EXPECT_THAT(outcome.error, HasSubstr("nothing was measured"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out" / "record.json"));
}

/// Starts two runs in the folder of a complete one, each of which measures nothing.
TEST_P(RunInterrupt, ARunThatMeasuredNothingTakesNoRecordsPlace) {
  with_status(0, run_program(request({"--only", "all_reduce", "--sizes", "8", "--launches", "1"})));
  const std::string complete = read_text(folder_ / "out" / "record.json");
  for (int i = 0; i < 2; ++i) {
    Program program(request(long_run({})));
    ASSERT_TRUE(comes_true([&] { return !launchers_of(program).empty(); }, 30.0));
    program.signal(SIGINT);
    with_status(128 + SIGINT, program.finish(20.0));
  }
  EXPECT_EQ(read_text(folder_ / "out" / "record.json.old"), complete);
}

TEST_P(RunInterrupt, JobsEndThemselvesWhenTheCoordinatorIsKilled) {
  {
    Program program(request(long_run({})));
    ASSERT_TRUE(comes_to_say(program, "[  1/"));
    const Words segments = folders_of_segments(program);
    ASSERT_THAT(segments, SizeIs(by_ == By::mpirun ? 2 : 0));
    program.signal(SIGKILL);
    EXPECT_EQ(program.finish(10.0).status, 128 + SIGKILL);
    EXPECT_TRUE(comes_true([&] { return program.processes().empty(); }, 20.0))
        << program.processes().size() << " left";
    for (const std::string& each : segments) EXPECT_FALSE(std::filesystem::exists(each)) << each;
  }
  const auto journal = folder_ / "out" / "journal.jsonl";
  ASSERT_TRUE(std::filesystem::exists(journal));
  const Outcome report = with_status(0, run_linkgain(folder_, {"report", "out/journal.jsonl"}));
  EXPECT_THAT(report.output, AllOf(HasSubstr("6 MiB"), HasSubstr("unfinished")));
}

/// Kills at the start and the end of the ranks, where no command bounds a rank.
TEST_P(KilledRunOfFault, LeavesNothing) {
  const std::string fault = std::get<const char*>(GetParam());
  Words arguments{"--only", "all_reduce", "--sizes", "1K", "--variant", with_fault(fault)};
  std::ranges::copy(timeout_of(kTimeout), std::back_inserter(arguments));
  Program program(request(arguments));
  const bool at_start = fault.ends_with("/launch");
  ASSERT_TRUE(comes_true(
      [&] {
        return at_start ? ranks_of(program).size() == 2
                        : program.error().find("[  1/") != std::string::npos;
      },
      60.0));
  pause_for(1.0);
  ASSERT_TRUE(program.is_running());
  kill_and_expect_nothing_left(program);
}

INSTANTIATE_TEST_SUITE_P(Planted, KilledRunOfFault,
                         Combine(Values(By::mpirun, By::local),
                                 Values("hang@1/launch", "stop@1/launch", "hang@1/end",
                                        "stop@1/end")));

enum class Stopped { launchers, ranks };

class KilledRunBehind : public KilledRun, public WithParamInterface<std::tuple<By, Stopped>> {
 protected:
  KilledRunBehind() : KilledRun(std::get<By>(GetParam())) {}
};

TEST_P(KilledRunBehind, LeavesNothingThatIsStopped) {
  Program program(request(long_run(timeout_of(kTimeout))));
  ASSERT_TRUE(comes_to_say(program, "[  1/"));
  const bool launchers = std::get<Stopped>(GetParam()) == Stopped::launchers;
  for (const pid_t each : launchers ? launchers_of(program) : ranks_of(program)) {
    kill(each, SIGSTOP);
  }
  kill_and_expect_nothing_left(program);
}

INSTANTIATE_TEST_SUITE_P(Stopped, KilledRunBehind,
                         Combine(Values(By::mpirun, By::local),
                                 Values(Stopped::launchers, Stopped::ranks)));

}  // namespace
}  // namespace linkgain::test

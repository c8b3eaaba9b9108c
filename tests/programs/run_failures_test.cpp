#include <csignal>

#include "programs.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kNothing = 0;

/// Long enough for something to happen while it is measured.
const std::vector<std::string> kLong{"--only",     "all_reduce", "--sizes",  "64K:6M:+64K",
                                     "--launches", "1",          "--budget", "15"};

std::vector<std::string> long_run(const std::vector<std::string>& more) {
  std::vector<std::string> all = kLong;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// Samples in the record by the variant's number.
std::size_t samples_of(const Json& record, int variant) {
  std::size_t count = 0;
  for (const Json& number : record.at("samples").at("variant")) count += number == variant ? 1 : 0;
  return count;
}

class RunFailure : public MpiTest {
 protected:
  /// Runs until `moment`, then does `harm`, and returns how it ended.
  template <typename Harm>
  Outcome run_and_harm(const std::vector<std::string>& arguments, Harm harm, double seconds) {
    Program program(run_request(folder_, arguments));
    if (!comes_true([&] { return program.error().find("[  1/") != std::string::npos; }, 60.0)) {
      throw std::runtime_error("no case was measured:\n" + program.error());
    }
    harm(program);
    const double start = now();
    Outcome outcome = program.finish(seconds);
    outcome.seconds = now() - start;
    EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
    return outcome;
  }

  Outcome run_to_end(const std::vector<std::string>& arguments, double seconds = 60.0) {
    Program program(run_request(folder_, arguments));
    const Outcome outcome = program.finish(seconds);
    EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
    return outcome;
  }

  static std::string with_fault(const std::string& fault) {
    return "faulty:OMPI_MCA_pml=ob1,OMPI_MCA_btl=self,tcp,LINKGAIN_TEST_FAULT=" + fault;
  }

  void expect_job_lost(const Outcome& outcome, const std::string& text) const {
    EXPECT_EQ(outcome.status, 6) << outcome.error;
    const Json record = read_record(folder_);
    EXPECT_EQ(record.at("status"), "job lost");
    EXPECT_EQ(record.at("exit_code"), 6);
    std::string warnings;
    for (const Json& warning : record.at("warnings")) {
      if (warning.at("code") == "job-lost") warnings += warning.at("text");
    }
    EXPECT_THAT(warnings, HasSubstr(text));
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out" / "journal.jsonl"));
  }

  ScratchFolder folder_;
};

TEST_F(RunFailure, OfADyingRankKeepsTheOtherVariant) {
  const Outcome outcome =
      run_to_end({"--only", "all_reduce", "--sizes", "64,64K", "--launches", "1", "--variant",
                  "shared-memory", "--variant", with_fault("die@1:5")});
  expect_job_lost(outcome, "'faulty'");
  const Json record = read_record(folder_);
  EXPECT_GT(samples_of(record, 0), samples_of(record, 1));
  EXPECT_EQ(samples_of(record, 1), 4U);
  for (const Json& result : record.at("cases")) {
    EXPECT_GT(result.at("variants")[0].at("busbw_gb_per_s"), 0.0) << "the other variant goes on";
    EXPECT_EQ(result.at("variants")[0].at("verification").at("wrong"), 0);
  }
}

TEST_F(RunFailure, OfAHangingRankIsFoundByTheDeadline) {
  const Outcome outcome =
      run_to_end({"--only", "all_reduce", "--sizes", "64,64K", "--launches", "1", "--timeout", "3",
                  "--variant", "shared-memory", "--variant", with_fault("hang@1:5")});
  expect_job_lost(outcome, "'run'");
  EXPECT_GT(samples_of(read_record(folder_), 0), kNothing);
  EXPECT_LT(outcome.seconds, 30.0);
}

TEST_F(RunFailure, OfTheFirstVariantKeepsTheSecond) {
  const Outcome outcome =
      run_to_end({"--only", "all_reduce", "--sizes", "64,64K", "--launches", "1", "--variant",
                  with_fault("die@0:3"), "--variant", "shared-memory"});
  expect_job_lost(outcome, "'faulty'");
  const Json record = read_record(folder_);
  for (const Json& result : record.at("cases")) {
    EXPECT_GT(result.at("variants")[1].at("busbw_gb_per_s"), 0.0);
    EXPECT_THAT(result.at("ratios"), SizeIs(testing::Le(1)));
  }
}

TEST_F(RunFailure, OfBothVariantsEndsTheRun) {
  const Outcome outcome =
      run_to_end({"--only", "all_reduce", "--sizes", "64,64K", "--launches", "1", "--variant",
                  "first:LINKGAIN_TEST_FAULT=die@1:3", "--variant", with_fault("die@0:3")});
  expect_job_lost(outcome, "'first'");
}

TEST_F(RunFailure, OfAKilledRank) {
  const Outcome outcome = run_and_harm(
      long_run({}),
      [](const Program& program) {
        const std::vector<pid_t> ranks = program.processes_named("linkgain-bench");
        ASSERT_THAT(ranks, SizeIs(4));
        kill(ranks[1], SIGKILL);
      },
      90.0);
  expect_job_lost(outcome, "variant");
  const Json record = read_record(folder_);
  EXPECT_GT(samples_of(record, 0), kNothing);
  EXPECT_GT(samples_of(record, 1), kNothing);
  EXPECT_EQ(record.at("cases").back().at("stopped") == "", false);
}

TEST_F(RunFailure, OfAStoppedRank) {
  const Outcome outcome = run_and_harm(
      long_run({"--timeout", "3"}),
      [](const Program& program) {
        const std::vector<pid_t> ranks = program.processes_named("linkgain-bench");
        ASSERT_THAT(ranks, SizeIs(4));
        kill(ranks[0], SIGSTOP);
      },
      90.0);
  expect_job_lost(outcome, "variant");
}

TEST_F(RunFailure, OfAKilledMpirun) {
  const Outcome outcome = run_and_harm(
      long_run({}),
      [](const Program& program) {
        const std::vector<pid_t> launchers = program.processes_named("mpirun");
        ASSERT_THAT(launchers, SizeIs(2));
        kill(launchers[1], SIGKILL);
      },
      90.0);
  expect_job_lost(outcome, "(SIGKILL)");
}

class RunSignal : public RunFailure, public testing::WithParamInterface<int> {};

TEST_P(RunSignal, KeepsTheRecordAndLeavesNothing) {
  const Outcome outcome = run_and_harm(
      long_run({}), [](const Program& program) { program.signal(GetParam()); }, 20.0);
  EXPECT_EQ(outcome.status, 128 + GetParam());
  EXPECT_LT(outcome.seconds, 5.0);
  const Json record = read_record(folder_);
  EXPECT_EQ(record.at("status"), "interrupted");
  EXPECT_EQ(record.at("exit_code"), 128 + GetParam());
  EXPECT_GT(record.at("cases").back().at("variants")[0].at("busbw_gb_per_s"), 0.0);
  EXPECT_GE(samples_of(record, 0), 4U);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "out" / "journal.jsonl"));
  EXPECT_THAT(outcome.output, HasSubstr("Shared memory  all_reduce "));
}

INSTANTIATE_TEST_SUITE_P(Signals, RunSignal, testing::Values(SIGINT, SIGTERM, SIGHUP));

/// An mpirun takes about a second to end, and twelve of them must not take twelve.
TEST_F(RunFailure, ByASignalEndsAllJobsAtOnce) {
  std::vector<std::string> arguments = long_run({});
  *std::next(std::find(arguments.begin(), arguments.end(), "--launches")) = "6";
  const Outcome outcome = run_and_harm(
      arguments, [](const Program& program) { program.signal(SIGINT); }, 30.0);
  EXPECT_EQ(outcome.status, 128 + SIGINT);
  EXPECT_LT(outcome.seconds, 6.0);
}

TEST_F(RunFailure, AnInterruptWithTheJobsOfThreeLaunchesLeavesNothing) {
  std::vector<std::string> arguments = kLong;
  arguments[5] = "3";
  const Outcome outcome = run_and_harm(
      arguments,
      [](const Program& program) {
        EXPECT_THAT(program.processes_named("mpirun"), SizeIs(6));
        program.signal(SIGINT);
      },
      20.0);
  EXPECT_EQ(outcome.status, 128 + SIGINT) << outcome.error;
  EXPECT_LT(outcome.seconds, 10.0);
  const Json record = read_record(folder_);
  EXPECT_EQ(record.at("status"), "interrupted");
  EXPECT_GE(samples_of(record, 0), 4U);
}

TEST_F(RunFailure, AnInterruptWhileTheJobsStartLeavesNothing) {
  Program program(run_request(folder_, long_run({})));
  ASSERT_TRUE(comes_true([&] { return !program.processes_named("mpirun").empty(); }, 30.0));
  program.signal(SIGINT);
  const double start = now();
  const Outcome outcome = program.finish(20.0);
  EXPECT_EQ(outcome.status, 128 + SIGINT) << outcome.error;
  EXPECT_LT(now() - start, 10.0);
  EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
}

TEST_F(RunFailure, JobsEndThemselvesWhenTheCoordinatorIsKilled) {
  {
    Program program(run_request(folder_, long_run({})));
    ASSERT_TRUE(comes_true([&] { return program.error().find("[  1/") != std::string::npos; }, 60));
    program.signal(SIGKILL);
    EXPECT_EQ(program.finish(10.0).status, 128 + SIGKILL);
    EXPECT_TRUE(comes_true([&] { return program.processes().empty(); }, 20.0))
        << program.processes().size() << " left";
  }
  const auto journal = folder_.path() / "out" / "journal.jsonl";
  ASSERT_TRUE(std::filesystem::exists(journal));
  const Outcome report = run_program(linkgain(folder_, {"report", "out/journal.jsonl"}));
  EXPECT_EQ(report.status, 0) << report.error;
  EXPECT_THAT(report.output, AllOf(HasSubstr("6 MiB"), HasSubstr("incomplete")));
}

}  // namespace
}  // namespace linkgain::test

#include <csignal>
#include <fstream>

#include "harmed_run.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t kNothing = 0;

class RunFailure : public HarmedRun {
 protected:
  using HarmedRun::HarmedRun;

  Outcome run_to_end(const Words& arguments, double seconds = 60.0) {
    Program program(request(arguments));
    const Outcome outcome = program.finish(seconds);
    EXPECT_THAT(program.processes(), IsEmpty()) << "left behind";
    return outcome;
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
    EXPECT_FALSE(std::filesystem::exists(folder_ / "out" / "journal.jsonl"));
  }
};

class RunFailureBy : public RunFailure, public testing::WithParamInterface<By> {
 protected:
  RunFailureBy() : RunFailure(GetParam()) {}
};

INSTANTIATE_TEST_SUITE_P(By, RunFailureBy, testing::Values(By::mpirun, By::local));

/// Names the host to look at, and to drain.
TEST_F(RunFailure, OfJobsThatNeverStartIsOfThisHost) {
  const Words few{"--only", "all_reduce", "--sizes", "4K"};
  ASSERT_EQ(run_to_end(few).status, 0);
  const std::string host = read_record(folder_).at("machine").at("host");
  const auto ask = [this](const Words& arguments) { return run_linkgain(folder_, arguments); };
  ASSERT_EQ(ask({"baseline", "out", "--output", "baseline.json"}).status, 0);
  ProgramRequest request = run_request(folder_, few);
  request.environment["LINKGAIN_TEST_FAULT"] = "die@1/start";
  EXPECT_EQ(run_program(request).status, 3);
  const Outcome fleet = ask({"fleet", "out", "--expect", host, "--json"});
  const Json report = Json::parse(fleet.output);
  ASSERT_THAT(report.at("nodes"), SizeIs(1)) << fleet.output;
  EXPECT_EQ(report.at("nodes").at(0).at("host"), host);
  EXPECT_EQ(report.at("drain"), Json({host}));
  const Outcome check = with_status(2, ask({"check", "out", "--baseline", "baseline.json"}));
  EXPECT_THAT(check.error, HasSubstr("nothing was measured"));
}

/// Blames no host for starting a run on others.
TEST_F(RunFailure, OfJobsOnOtherHostsThatNeverStartIsNotOfThisHost) {
  std::ofstream(folder_ / "hosts") << "no-host-1 slots=1\nno-host-2 slots=1\n";
  ProgramRequest request = run_request(folder_, {"--only", "all_reduce", "--sizes", "4K",
                                                 "--variant", "tcp", "--hostfile", "hosts"});
  request.environment["OMPI_MCA_plm_rsh_agent"] = "/bin/false";
  EXPECT_EQ(run_program(request).status, 3);
  const Outcome fleet = run_linkgain(folder_, {"fleet", "out", "--json"});
  const Json nodes = Json::parse(fleet.output).at("nodes");
  ASSERT_THAT(nodes, SizeIs(1)) << fleet.output;
  EXPECT_EQ(nodes.at(0).at("host"), "out") << "its folder";
}

TEST_F(RunFailure, OfADyingRankKeepsTheOtherVariant) {
  const Outcome outcome =
      run_to_end({"--only", "all_reduce", "--sizes", "64,64K", "--launches", "1", "--variant",
                  "shared-memory", "--variant", with_fault("die@1:5")});
  expect_job_lost(outcome, "'faulty'");
  const Json record = read_record(folder_);
  EXPECT_GT(samples_of(record, 0), samples_of(record, 1));
  EXPECT_GE(samples_of(record, 1), 4U);
  for (const Json& result : record.at("cases")) {
    EXPECT_GT(result.at("variants")[0].at("busbw_gb_per_s"), 0.0) << "the other variant goes on";
    EXPECT_EQ(result.at("variants")[0].at("verification").at("wrong"), 0);
  }
}

TEST_F(RunFailure, OfAHangingRankIsFoundByTheDeadline) {
  Words arguments{"--only", "all_reduce", "--sizes",       "64,64K",    "--launches",
                  "1",      "--variant",  "shared-memory", "--variant", with_fault("hang@1:5")};
  std::ranges::copy(timeout_of(3.0), std::back_inserter(arguments));
  const Outcome outcome = run_to_end(arguments);
  expect_job_lost(outcome, "'run'");
  EXPECT_GT(samples_of(read_record(folder_), 0), kNothing);
  EXPECT_LT(outcome.seconds, 30.0 * slowdown());
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

TEST_P(RunFailureBy, OfAKilledRank) {
  const Outcome outcome = run_and_harm(
      long_run({}),
      [this](const Program& program) {
        const std::vector<pid_t> ranks = ranks_of(program);
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

TEST_P(RunFailureBy, OfAStoppedRank) {
  const Outcome outcome = run_and_harm(
      long_run(timeout_of(3.0)),
      [this](const Program& program) {
        const std::vector<pid_t> ranks = ranks_of(program);
        ASSERT_THAT(ranks, SizeIs(4));
        kill(ranks[0], SIGSTOP);
      },
      90.0);
  expect_job_lost(outcome, "variant");
}

/// Lays the case with the fault aside; the job is there again for the next one.
TEST_F(RunFailure, OfADyingRankCostsItsCaseAlone) {
  const Outcome outcome =
      run_to_end({"--only", "all_reduce", "--sizes", "64,1K,64K", "--launches", "1", "--variant",
                  "shared-memory", "--variant", with_fault("die@1:2")});
  expect_job_lost(outcome, "'faulty'");
  const Json record = read_record(folder_);
  int with_faulty = 0;
  for (const Json& result : record.at("cases")) {
    EXPECT_GT(result.at("variants")[0].at("busbw_gb_per_s"), 0.0);
    with_faulty += result.at("variants")[1].at("time_s").is_null() ? 0 : 1;
  }
  EXPECT_EQ(with_faulty, 3) << "each new job measures a batch before it dies";
  EXPECT_THAT(outcome.error, HasSubstr("2 of 3"));
}

TEST_P(RunFailureBy, OfAKilledLauncher) {
  const Outcome outcome = run_and_harm(
      long_run({}),
      [this](const Program& program) {
        const std::vector<pid_t> launchers = launchers_of(program);
        ASSERT_THAT(launchers, SizeIs(2));
        kill(launchers[1], SIGKILL);
      },
      90.0);
  expect_job_lost(outcome, "(SIGKILL)");
}

}  // namespace
}  // namespace linkgain::test

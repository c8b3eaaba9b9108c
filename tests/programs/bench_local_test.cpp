#include <csignal>
#include <deque>
#include <fstream>

#include "harmed_run.hpp"
#include "nccl_tests_table.hpp"
#include "redirection.hpp"

/// Ranks that linkgain-bench starts itself, on the GPUs of the NVML double, and linkgain-bench
/// where Open MPI is missing.
namespace linkgain::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class BenchLocal : public testing::Test {
 protected:
  static ProgramRequest request(const std::string& fault, const Words& more = {}) {
    ProgramRequest request{
        .arguments = joined({BENCH_DOUBLE, "-g", "2", "-b", "8", "-e", "8", "-n", "2"}, more)};
    request.environment["LINKGAIN_NVML_LIBRARY"] = NVML_DOUBLE;
    request.environment["LINKGAIN_NVML_SCENARIO"] = "no-nvlink";
    if (!fault.empty()) request.environment["LINKGAIN_TEST_FAULT"] = fault;
    return request;
  }

  static std::size_t rows_of(const Outcome& outcome) {
    return parse_nccl_tests_table(outcome.output).rows.size();
  }

  /// Returns a job whose ranks have all begun and go on.
  static void await_ranks(Program& program) {
    ASSERT_TRUE(comes_true([&] { return benches(program, true).size() == 2; }, 60.0));
    pause_for(0.2);
    ASSERT_TRUE(program.is_running());
  }
};

TEST_F(BenchLocal, EndsWithTheStatusOfItsRanks) {
  const Outcome outcome = with_status(0, run_program(request("")));
  EXPECT_THAT(outcome.output, HasSubstr("#  Rank  1 "));
  EXPECT_EQ(rows_of(outcome), 1U);
  EXPECT_EQ(run_program(request("", {"--only", "gpt2_step"})).status, 2);
  ProgramRequest slow = request("");
  slow.environment["NCCL_TESTS_MIN_BW"] = "1e9";
  EXPECT_EQ(run_program(slow).status, 1);
}

TEST_F(BenchLocal, RefusesWhereNoSizeFits) {
  ProgramRequest small = request("");
  small.environment["LINKGAIN_NVML_SCENARIO"] = "little-memory";
  const Outcome refused = with_status(3, run_program(small));
  EXPECT_THAT(refused.error, testing::AllOf(HasSubstr("no size fits"), HasSubstr("1.0 GiB")));
  EXPECT_EQ(refused.output, "");
}

/// Says of a missing driver what `linkgain run` says, however many GPUs are asked for.
TEST_F(BenchLocal, NeedsADriverInTheWordsOfRun) {
  ProgramRequest without = request("");
  without.environment["LINKGAIN_NVML_SCENARIO"] = "no-driver";
  const std::string worker = std::string("worker=") + BENCH_DOUBLE;
  for (const Words& words :
       {without.arguments, Words{BENCH_DOUBLE, "--np", "auto"},
        Words{LINKGAIN, "run", "--variant", "first:" + worker, "--variant", "second:" + worker}}) {
    without.arguments = words;
    EXPECT_THAT(with_status(3, run_program(without)).error,
                testing::AllOf(HasSubstr("two GPUs: NVML "), HasSubstr("load the driver's module"),
                               HasSubstr("--backend mpi")));
  }
}

TEST_F(BenchLocal, NamesARankThatDiesAndEndsTheOthers) {
  for (const int rank : {0, 1}) {
    const std::string number = std::to_string(rank);
    Program program(request("die@" + number + "/start"));
    const Outcome outcome = with_status(128 + SIGKILL, program.finish(20.0));
    EXPECT_THAT(outcome.error, testing::AllOf(HasSubstr("rank " + number), HasSubstr("SIGKILL")));
    EXPECT_THAT(program.processes(), IsEmpty());
  }
}

TEST_F(BenchLocal, EndsWithItsRanksByASignal) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGKILL}) {
    Program program(request("hang@1/start"));
    await_ranks(program);
    program.signal(signal);
    EXPECT_EQ(program.finish(20.0).status, 128 + signal);
    EXPECT_TRUE(comes_true([&] { return program.processes().empty(); }, 10.0)) << signal;
  }
}

/// Kills: a stopped process takes no other signal.
TEST_F(BenchLocal, EndsRanksThatAreStopped) {
  Program program(request("stop@1/start"));
  await_ranks(program);
  program.signal(SIGTERM);
  EXPECT_EQ(program.finish(20.0).status, 128 + SIGTERM);
  EXPECT_THAT(program.processes(), IsEmpty());
}

TEST_F(BenchLocal, ARankThatIsKilledEndsAll) {
  Program program(request("hang@1/start"));
  await_ranks(program);
  const std::vector<pid_t> ranks = benches(program, true);
  ASSERT_THAT(ranks, SizeIs(2));
  kill(ranks.back(), SIGKILL);
  const Outcome outcome = with_status(128 + SIGKILL, program.finish(20.0));
  EXPECT_THAT(outcome.error, HasSubstr("SIGKILL"));
  EXPECT_THAT(program.processes(), IsEmpty());
}

/// Runs 96 ranks on however few processors: a job whose rank dies takes no other with it.
TEST_F(BenchLocal, AreTwelveJobsOfEightRanksAtOnce) {
  constexpr int kJobs = 12;
  std::deque<Program> jobs;
  for (int job = 0; job < kJobs; ++job) {
    ProgramRequest one = request(job % 3 == 0 ? "die@5/start" : "");
    one.arguments = {BENCH_DOUBLE, "-g", "8", "-b", "8", "-e", "64K", "-f", "2", "-n", "20"};
    one.environment["LINKGAIN_NVML_SCENARIO"] = "h200x8";
    jobs.emplace_back(one);
  }
  for (int job = 0; job < kJobs; ++job) {
    Program& one = jobs[static_cast<std::size_t>(job)];
    const Outcome outcome = one.finish();
    const bool dies = job % 3 == 0;
    EXPECT_EQ(outcome.status, dies ? 128 + SIGKILL : 0) << outcome.error;
    EXPECT_EQ(rows_of(outcome), dies ? 0U : 14U);
    EXPECT_THAT(one.processes(), IsEmpty());
  }
}

TEST_F(BenchLocal, WhoseOutputCannotBeWrittenIsAnError) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  const ScratchFolder folder;
  for (const char* nowhere : {">/dev/full", ">&-"}) {
    EXPECT_EQ(with_streams(folder, nowhere, request("")).status, 2) << nowhere;
  }
  in_shell(folder, "{ \"$@\"; echo $? >status; } | true", request(""));
  EXPECT_EQ(read_text(folder / "status"), "2\n");
}

TEST_F(BenchLocal, TakesNoPlaceThatItHasNot) {
  for (const char* place : {"", "x", "2/2 5 7", "1/2", "1/2 900 901", "0/2 0"}) {
    ProgramRequest wrong{.arguments = {BENCH_DOUBLE, "-b", "8"}};
    wrong.environment["LINKGAIN_RANK"] = place;
    const Outcome outcome = run_program(wrong);
    EXPECT_EQ(outcome.status, 3) << place;
    EXPECT_THAT(outcome.error, HasSubstr("LINKGAIN_RANK")) << place;
  }
}

/// Takes the tasks of an interactive step (srun --pty -n 8) for what they are: one shell.
TEST_F(BenchLocal, StartsRanksInAStepWithATerminal) {
  ProgramRequest shell = request("");
  shell.environment["SLURM_STEP_NUM_TASKS"] = "8";
  shell.environment["PMI_SIZE"] = "8";
  EXPECT_THAT(with_status(2, run_program(shell)).error, HasSubstr("8 ranks already"));
  shell.environment["SLURM_PTY_PORT"] = "40000";
  EXPECT_THAT(with_status(0, run_program(shell)).output, HasSubstr("#  Rank  1 "));
  for (const char* number : {"SLURM_PROCID", "OMPI_COMM_WORLD_SIZE"}) {
    ProgramRequest other = shell;
    other.environment[number] = "8";
    EXPECT_EQ(run_program(other).status, 2) << "another task, or an mpirun in that shell";
  }
}

/// Runs of one linkgain a node (srun --ntasks-per-node=1) each have ranks of their own.
class RunByALauncher : public HarmedRun {
 protected:
  RunByALauncher() : HarmedRun(By::local) {}

  Outcome run(const std::string& tasks_per_node) const {
    ProgramRequest run = request({"--only", "all_reduce", "--sizes", "1K"});
    run.environment["SLURM_STEP_NUM_TASKS"] = "2";
    run.environment["SLURM_STEP_TASKS_PER_NODE"] = tasks_per_node;
    return run_program(run);
  }
};

TEST_F(RunByALauncher, HasRanksOnEveryHost) { with_status(0, run("1(x2)")); }

TEST_F(RunByALauncher, IsRefusedBesideAnotherOnItsHost) {
  EXPECT_THAT(with_status(3, run("2")).error, HasSubstr("started 2 of it"));
}

/// Has the loader find a file in place of libmpi.so.40 that it cannot open.
class BenchWithoutMpi : public BenchLocal {
 protected:
  BenchWithoutMpi() { std::ofstream(folder_ / "libmpi.so.40").flush(); }

  Outcome run(ProgramRequest request) const {
    request.environment["LD_LIBRARY_PATH"] = folder_.path().string();
    return run_program(request);
  }

 private:
  ScratchFolder folder_;
};

TEST_F(BenchWithoutMpi, MeasuresGpusOfOneHost) {
  EXPECT_THAT(with_status(0, run(request(""))).output, HasSubstr("#  Rank  1 "));
}

/// Refuses to run one rank several times in silence.
TEST_F(BenchWithoutMpi, IsNotOneOfSeveralRanks) {
  for (const char* size : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    ProgramRequest request{.arguments = {BENCH_DOUBLE}};
    request.environment[size] = "2";
    EXPECT_THAT(with_status(3, run(request)).error, HasSubstr("openmpi-bin")) << size;
    request.environment[size] = "1";
    EXPECT_EQ(run(request).status, 2) << "a link has two ends";
  }
}

TEST_F(BenchWithoutMpi, SaysThatTheMpiBackendNeedsIt) {
  const Outcome refused =
      with_status(3, run({.arguments = {LINKGAIN_BENCH, "--np", "2", "--backend", "mpi"}}));
  EXPECT_THAT(refused.error, HasSubstr("need Open MPI"));
}

}  // namespace
}  // namespace linkgain::test

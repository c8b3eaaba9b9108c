#include <csignal>

#include "harmed_run.hpp"
#include "redirection.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"

/// Ranks that are started without an mpirun around them: `linkgain bench`, --np, nccl-tests' -g.
namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

ProgramRequest alone(const Words& arguments) {
  return {.arguments = arguments, .environment = {{"OMPI_MCA_odls_base_sigkill_timeout", "0"}}};
}

/// With nccl-tests' flags for a row that takes no time.
ProgramRequest quick(Words words) {
  return alone(joined(std::move(words), {"--backend", "mpi", "-b", "8", "-e", "8", "-n", "2"}));
}

/// Lines of nccl-tests' head that name a rank each.
std::size_t ranks_of(const ProgramRequest& request) {
  const Outcome outcome = with_status(0, run_program(request));
  const Words lines = lines_of(outcome.output);
  return static_cast<std::size_t>(std::ranges::count_if(
      lines, [](const std::string& line) { return line.starts_with("#  Rank "); }));
}

class BenchStart : public MpiTest {};

TEST_F(BenchStart, TakesNcclTestsGpusAndThreadsAsRanks) {
  EXPECT_EQ(ranks_of(quick({LINKGAIN_BENCH, "-g", "2"})), 2U);
  EXPECT_EQ(ranks_of(quick({LINKGAIN_BENCH, "--ngpus=2", "-t", "2"})), 4U);
  const ScratchFolder folder;
  const std::string link = folder / "broadcast_perf";
  std::filesystem::create_symlink(LINKGAIN_BENCH, link);
  const Outcome outcome = run_program(quick({link, "-g3"}));
  EXPECT_THAT(outcome.output, HasSubstr("Collective test starting: broadcast_perf\n"));
  EXPECT_THAT(outcome.output, HasSubstr("#  Rank  2 "));
  ProgramRequest on_path = quick({"broadcast_perf", "-g3"});
  on_path.environment["PATH"] = folder.path().string() + ":" + std::getenv("PATH");
  EXPECT_EQ(ranks_of(on_path), 3U);
}

TEST_F(BenchStart, WithinAnMpirunOfOneRankStartsOthers) {
  EXPECT_EQ(ranks_of(bench(1, {"-g", "2", "-b", "8", "-e", "8", "-n", "2"})), 2U);
}

TEST_F(BenchStart, OfLinkgainPassesAllOtherWordsOn) {
  EXPECT_EQ(ranks_of(quick({LINKGAIN, "bench"})), 2U) << "as many as the backend has";
  EXPECT_EQ(ranks_of(quick({LINKGAIN, "bench", "-np", "3"})), 3U);
  EXPECT_EQ(ranks_of(quick({LINKGAIN, "bench", "-g", "3"})), 3U);
  EXPECT_EQ(ranks_of(quick({LINKGAIN, "bench", "--", "-g", "3"})), 3U);
  EXPECT_EQ(ranks_of(quick({LINKGAIN, "bench", "-np", "3", "--"})), 3U);
  const Outcome outcome =
      with_status(0, run_program(alone({LINKGAIN, "bench", "--only", "all_reduce", "--sizes", "8",
                                        "--backend", "mpi", "--benchmark_min_time=0.001", "--np=3",
                                        "--benchmark_format=json"})));
  EXPECT_THAT(outcome.output, HasSubstr("\"all_reduce/float32/sum/8B/np3\""));
  const Outcome described = with_status(0, run_program(alone({LINKGAIN, "bench", "--describe"})));
  EXPECT_THAT(described.output, StartsWith("{\"reply\":\"hello\""));
}

TEST_F(BenchStart, HasTheRanksExitStatus) {
  ProgramRequest request = quick({LINKGAIN, "bench"});
  request.environment["NCCL_TESTS_MIN_BW"] = "1e9";
  EXPECT_EQ(run_program(request).status, 1);
}

/// As Open MPI 4.1's does now and then where a rank left without MPI_Finalize. That it has ranks is
/// looked for once a second.
TEST_F(BenchStart, EndsAnMpirunThatOutlivesItsRanks) {
  const ScratchFolder folder;
  write_executable(folder / "mpirun", "#!/bin/sh\nsleep 3\nexec sleep 600\n");
  ProgramRequest request = quick({LINKGAIN_BENCH, "-g", "2"});
  request.environment["PATH"] = folder.path().string() + ":" + std::getenv("PATH");
  const Outcome outcome = with_status(6, run_program(request));
  EXPECT_THAT(outcome.error, HasSubstr("was killed"));
  EXPECT_LT(outcome.seconds, 30.0 * slowdown());
}

TEST_F(BenchStart, EndsWithItsRanksByASignal) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    Program program(alone({LINKGAIN, "bench", "--backend", "mpi", "-b", "8", "-n", "1000000000"}));
    ASSERT_TRUE(
        comes_true([&] { return program.output().find("#  Rank  1") != std::string::npos; }, 60.0));
    EXPECT_THAT(program.processes_named("linkgain-bench"), SizeIs(4))
        << "two ranks, who waits, who cleans up after that";
    program.signal(signal);
    EXPECT_EQ(program.finish(20.0).status, 128 + signal);
    EXPECT_TRUE(comes_true([&] { return program.processes().empty(); }, 10.0));
  }
}

/// mpirun ends with 0 whatever becomes of what it prints.
TEST_F(BenchStart, WhoseOutputCannotBeWrittenIsAnError) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full";
  const ScratchFolder folder;
  for (const char* nowhere : {">/dev/full", ">&-"}) {
    const Outcome outcome = with_streams(folder, nowhere, quick({LINKGAIN, "bench"}));
    EXPECT_EQ(outcome.status, 2) << nowhere;
    EXPECT_THAT(own_lines(outcome.error), ElementsAre(HasSubstr("the output: "))) << nowhere;
  }
  in_shell(folder, "{ \"$@\"; echo $? >status; } | true", quick({LINKGAIN, "bench"}));
  EXPECT_EQ(read_text(folder / "status"), "2\n");
}

TEST_F(BenchStart, WhoseReaderStoppedEndsByASignal) {
  const ScratchFolder folder;
  const FullPipe pipe(folder / "pipe");
  ProgramRequest request = alone({"/bin/sh", "-c", "exec \"$@\" >pipe", "sh", LINKGAIN, "bench",
                                  "--backend", "mpi", "-b", "8", "-n", "1000000000"});
  request.directory = folder.path();
  Program program(request);
  ASSERT_TRUE(
      comes_true([&] { return program.processes_named("linkgain-bench").size() == 4; }, 60.0));
  program.signal(SIGINT);
  EXPECT_EQ(program.finish(20.0).status, 128 + SIGINT);
}

/// Whoever is killed leaves the files of shared memory.
TEST_F(BenchStart, RemovesTheSharedMemoryOfAKilledMpirun) {
  Program program(alone({LINKGAIN, "bench", "--backend", "mpi", "-b", "8", "-n", "1000000000"}));
  ASSERT_TRUE(
      comes_true([&] { return program.output().find("#  Rank  1") != std::string::npos; }, 60.0));
  const Words folders = folders_of_segments(program);
  ASSERT_THAT(folders, SizeIs(1)) << "of both ranks";
  EXPECT_TRUE(std::filesystem::exists(folders.front()));
  const std::vector<pid_t> launchers = program.processes_named("mpirun");
  ASSERT_THAT(launchers, SizeIs(1));
  kill(launchers.front(), SIGKILL);
  const Outcome outcome = with_status(128 + SIGKILL, program.finish(20.0));
  EXPECT_THAT(outcome.error, HasSubstr("mpirun was ended"));
  EXPECT_FALSE(std::filesystem::exists(folders.front())) << folders.front();
}

TEST_F(BenchStart, ThatIsKilledLeavesNothing) {
  for (const bool with_mpirun : {false, true}) {
    Program program(alone({LINKGAIN_BENCH, "--np", "2", "--backend", "mpi", "--only", "all_reduce",
                           "--sizes", "8", "--benchmark_min_time=600"}));
    Words folders;
    ASSERT_TRUE(comes_true(
        [&] {
          folders = folders_of_segments(program);
          return !folders.empty() && !std::filesystem::is_empty(folders.front());
        },
        60.0));
    if (with_mpirun) kill(program.processes_named("mpirun").at(0), SIGKILL);
    program.signal(SIGKILL);
    EXPECT_TRUE(comes_true([&] { return program.processes().empty(); }, 20.0));
    EXPECT_FALSE(std::filesystem::exists(folders.front())) << folders.front();
  }
}

TEST_F(BenchStart, SaysOnlyWhatItsRanksDoNot) {
  const Outcome refused = with_status(
      2, run_program(alone({LINKGAIN, "bench", "--backend", "mpi", "--only", "copy_push"})));
  EXPECT_THAT(lines_of(refused.error), SizeIs(2)) << refused.error;

  Program program(alone({LINKGAIN, "bench", "--backend", "mpi", "-b", "8", "-n", "1000000000"}));
  ASSERT_TRUE(
      comes_true([&] { return program.output().find("#  Rank  1") != std::string::npos; }, 60.0));
  kill(program.processes_named("linkgain-bench").back(), SIGKILL);
  const Outcome killed = with_status(128 + SIGKILL, program.finish(20.0));
  EXPECT_THAT(lines_of(killed.error), ElementsAre(HasSubstr("SIGKILL")));
}

TEST_F(BenchStart, IsRefusedWithAReason) {
  Situations refusals;
  const auto add = [&](const std::string& situation, const ProgramRequest& request, int status) {
    const Outcome outcome = run_program(request);
    EXPECT_EQ(outcome.status, status) << situation << outcome.error;
    EXPECT_THAT(outcome.output, IsEmpty()) << situation;
    const Words own = own_lines(outcome.error);
    ASSERT_THAT(own, SizeIs(1)) << situation << outcome.error;
    const Words lines = lines_of(outcome.error);
    const auto line = std::ranges::find(lines, own[0]);
    refusals.add(situation, own[0] + "\n" + (line + 1 == lines.end() ? "" : *(line + 1)));
  };
  refusals.about("ranks within a job of several");
  add("mpirun -np 2 linkgain-bench -g 2", bench(2, {"-g", "2"}), 2);
  add("mpirun -np 2 linkgain-bench -t 2", bench(2, {"-t", "2"}), 2);
  add("mpirun -np 2 linkgain-bench --np 2", bench(2, {"--np", "2"}), 2);
  ProgramRequest step = quick({LINKGAIN_BENCH, "-g", "2"});
  step.environment["SLURM_STEP_NUM_TASKS"] = "4";
  add("srun --ntasks=4 linkgain-bench -g 2", step, 2);
  refusals.about("how many");
  add("linkgain-bench -g 2 --np 3", quick({LINKGAIN_BENCH, "-g", "2", "--np", "3"}), 2);
  add("linkgain-bench --np 1", quick({LINKGAIN_BENCH, "--np", "1"}), 2);
  add("linkgain-bench -g 64 -t 64", quick({LINKGAIN_BENCH, "-g", "64", "-t", "64"}), 2);
  add("linkgain-bench", quick({LINKGAIN_BENCH}), 2);
  refusals.about("before anything is started");
  add("linkgain bench --bogus", alone({LINKGAIN, "bench", "--bogus", "--backend", "mpi"}), 2);
  ProgramRequest lost = quick({LINKGAIN_BENCH, "-g", "2"});
  lost.environment["PATH"] = "/nowhere";
  add("without mpirun on PATH", lost, 3);
  refusals.expect_golden("bench_start_refusals.txt");
}

}  // namespace
}  // namespace linkgain::test

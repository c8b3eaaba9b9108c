#include "programs.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"

/// Ranks that are started without an mpirun around them: `linkgain bench`, --np, nccl-tests' -g.
namespace linkgain::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

ProgramRequest alone(const Words& arguments) {
  return {.arguments = arguments, .environment = {{"OMPI_MCA_odls_base_sigkill_timeout", "0"}}};
}

/// Adds nccl-tests' flags for a row that takes no time.
ProgramRequest quick(Words words) {
  return alone(joined(std::move(words), {"--backend", "mpi", "-b", "8", "-e", "8", "-n", "2"}));
}

/// Counts the lines of nccl-tests' head that name a rank each.
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

TEST_F(BenchStart, SaysOnlyWhatItsRanksDoNot) {
  const Outcome refused = with_status(
      2, run_program(alone({LINKGAIN, "bench", "--backend", "mpi", "--only", "copy_push"})));
  EXPECT_THAT(lines_of(refused.error), SizeIs(2)) << refused.error;
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
  ProgramRequest strange = quick({LINKGAIN_BENCH, "--backend", "mpi"});
  strange.environment["PMI_SIZE"] = "2";
  add("mpirun of MPICH -np 2 linkgain-bench", strange, 2);
  refusals.about("before anything is started");
  add("linkgain bench --bogus", alone({LINKGAIN, "bench", "--bogus", "--backend", "mpi"}), 2);
  ProgramRequest lost = quick({LINKGAIN_BENCH, "-g", "2"});
  lost.environment["PATH"] = "/nowhere";
  add("without mpirun on PATH", lost, 3);
  refusals.expect_golden("bench_start_refusals.txt");
}

}  // namespace
}  // namespace linkgain::test

#include <algorithm>
#include <fstream>

#include "programs.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

struct Refusal {
  std::string label;
  Words arguments;
  Words texts;  ///< all in the one line
};

void PrintTo(const Refusal& refusal, std::ostream* stream) { *stream << refusal.label; }

/// Lists what was started or made, though nothing should have been.
Words entries(const ScratchFolder& folder) {
  Words names;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    names.push_back(entry.path().filename());
  }
  return names;
}

/// Expects one line that tells, at most one more with advice, nothing on standard output.
void expect_clear(const Outcome& outcome, int status, const Words& texts) {
  EXPECT_EQ(outcome.status, status) << outcome.error;
  EXPECT_THAT(outcome.output, IsEmpty());
  const Words lines = lines_of(outcome.error);
  ASSERT_THAT(lines, AllOf(SizeIs(testing::Ge(1)), SizeIs(testing::Le(2)))) << outcome.error;
  EXPECT_THAT(lines[0], StartsWith("linkgain: "));
  for (const std::string& text : texts) EXPECT_THAT(outcome.error, HasSubstr(text));
  EXPECT_LT(outcome.seconds, 2.0 * slowdown()) << "something was started";
}

class RunRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(RunRefuses, InOneClearLineBeforeAnythingIsStarted) {
  const ScratchFolder folder;
  const Outcome outcome = run_program(run_request(folder, GetParam().arguments), 30.0);
  expect_clear(outcome, 2, GetParam().texts);
  EXPECT_THAT(entries(folder), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Input, RunRefuses,
    testing::Values(
        Refusal{"unknown_operation", {"--only", "all_reduc"}, {"'all_reduc'", "mean all_reduce?"}},
        Refusal{"size_0", {"--sizes", "0"}, {"'0'", "from 1"}},
        Refusal{"size_negative", {"--sizes", "-5"}, {"'-5'", "from 1"}},
        Refusal{"size_suffix", {"--sizes", "1Q"}, {"'1Q'", "B, K, M, G, T"}},
        Refusal{"size_beyond_numbers", {"--sizes", "9999999T"}, {"too large", "64T"}},
        Refusal{"size_beyond_memory", {"--sizes", "60T"}, {"60 TiB", "memory", "--sizes"}},
        Refusal{"size_part_of_element", {"--sizes", "6"}, {"4 bytes"}},
        Refusal{"sizes_empty", {"--sizes", ""}, {"--sizes", "empty"}},
        Refusal{"sizes_backwards", {"--sizes", "1M:8:x2"}, {"1M"}},
        Refusal{"sizes_step", {"--sizes", "8:1M:x1"}, {"x1"}},
        Refusal{"sizes_without_value", {"--sizes"}, {"--sizes"}},
        Refusal{"unknown_type", {"--type", "float31"}, {"'float31'", "mean float32?"}},
        Refusal{"type_not_here", {"--type", "bfloat16"}, {"mpi", "bfloat16"}},
        Refusal{"reduction_not_here", {"--reduction", "avg"}, {"mpi", "avg"}},
        Refusal{"launch_not_here", {"--launch-mode", "graph"}, {"mpi", "graph"}},
        Refusal{"variant_without_name", {"--variant", ":A=B"}, {"no name"}},
        Refusal{"variant_unknown", {"--variant", "tpc"}, {"'tpc'", "mean tcp?"}},
        Refusal{"variant_built_in", {"--variant", "tcp:A=B"}, {"built in"}},
        Refusal{"variant_without_value", {"--variant", "x:AB"}, {"'x:AB'", "VARIABLE=value"}},
        Refusal{"variants_alike", {"--variant", "a:A=B", "--variant", "a:A=C"}, {"'a'"}},
        Refusal{"np_1", {"--np", "1"}, {"--np 1", "2 to "}},
        Refusal{"np_0", {"--np", "0"}, {"--np 0", "2 to "}},
        Refusal{"np_100000", {"--np", "100000"}, {"--np 100000", "2 to "}},
        Refusal{"np_word", {"--np", "two"}, {"--np"}},
        Refusal{"gpus_on_mpi", {"--gpus", "0,1"}, {"--gpus", "nccl"}},
        Refusal{"profile",
                {"--profile", "fast"},
                {"'fast'", "quick, default, bridge, inference, full, node, soak"}},
        Refusal{"launches_0", {"--launches", "0"}, {"--launches 0", "1 to "}},
        Refusal{"budget_negative", {"--budget", "-1"}, {"--budget '-1'", "1 s to "}},
        Refusal{"budget_nan", {"--budget", "nan"}, {"--budget"}},
        Refusal{"precision", {"--ci-width", "2"}, {"--ci-width '2'", "0.01 % to 50 %"}},
        Refusal{"deadline", {"--timeout", "0"}, {"--timeout '0'", "1 s to "}},
        Refusal{"pair_unused", {"--pair", "0-9"}, {"--pair"}},
        Refusal{"pair_outside",
                {"--only", "send_recv", "--pattern", "one-way", "--pair", "0-9"},
                {"0-9", "0 to 1"}},
        Refusal{"pair_of_one", {"--pattern", "one-way", "--pair", "1-1"}, {"differ"}},
        Refusal{"pair_word", {"--pair", "first"}, {"'first'", "0-1"}},
        Refusal{"schedule", {"--schedule", "foo"}, {"'foo'", "paired, sequential"}},
        Refusal{"pattern", {"--pattern", "star"}, {"'star'", "ring, one-way, both-ways"}},
        Refusal{"hostfile_empty", {"--hostfile", ""}, {"--hostfile", "empty"}},
        Refusal{"resume_empty", {"--resume", ""}, {"--resume", "empty"}},
        Refusal{"variant_empty", {"--variant", ""}, {"--variant", "empty"}},
        Refusal{"hostfile", {"--hostfile", "/nowhere/hosts"}, {"/nowhere/hosts"}},
        Refusal{"option", {"--quite"}, {"--quite", "--help"}},
        Refusal{"word", {"now"}, {"now", "--help"}}),
    [](const auto& test) { return test.param.label; });

TEST(EmptyValue, IsRefusedByTheOtherCommandsToo) {
  const ScratchFolder folder;
  for (const Words& words : {Words{"exec", "--out", "", "--", "true"},
                             {"exec", "--prepare", "", "--", "true"},
                             {"exec", "--seed", "", "--", "true"},
                             {"bench", "--np", ""},
                             {"list", "--format", ""},
                             {"fleet", ".", "--expect", ""}}) {
    const std::string option = *std::ranges::find_if(
        words, [](const std::string& word) { return word.starts_with("--"); });
    expect_clear(run_program(linkgain(folder, words), 30.0), 2, {option, "empty"});
  }
  EXPECT_THAT(entries(folder), IsEmpty());
}

class RunRefusesPlace : public testing::TestWithParam<std::string> {};

TEST_P(RunRefusesPlace, ThatCannotBeWritten) {
  const ScratchFolder folder;
  std::ofstream(folder / "file") << "mine";
  const Outcome outcome = run_program(
      linkgain(folder, {"run", "--backend", "mpi", "--sizes", "64", "--out", GetParam()}), 30.0);
  expect_clear(outcome, 2, {GetParam(), "--out DIR"});
  EXPECT_THAT(entries(folder), SizeIs(1));
  EXPECT_EQ(read_text(folder / "file"), "mine");
}

INSTANTIATE_TEST_SUITE_P(Places, RunRefusesPlace,
                         testing::Values("file", "file/below", "/proc/linkgain", "/proc/self/fd",
                                         "/dev/null"));

TEST(RunPreview, PrintsAndStartsAndWritesNothing) {
  const ScratchFolder folder;
  ProgramRequest request = run_request(folder, {"--sizes", "64", "--dry-run"});
  request.environment["PATH"] = "/nowhere";
  Outcome outcome = run_program(request, 30.0);
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.output, HasSubstr("  all_reduce/float32/sum/64B/np2\n"));
  EXPECT_THAT(outcome.output, HasSubstr("OMPI_MCA_btl=self,tcp"));
  EXPECT_THAT(outcome.error, IsEmpty());
  outcome = run_program(linkgain(folder, {"run", "--list"}), 30.0);
  EXPECT_EQ(outcome.status, 0) << outcome.error;
  EXPECT_THAT(outcome.output, HasSubstr("NCCL_P2P_DISABLE=1"));
  outcome =
      run_program(run_request(folder, {"--variant", "a:MY_TOKEN=hunter2", "--dry-run"}), 30.0);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("MY_TOKEN=***"), Not(HasSubstr("hunter2"))));
  expect_clear(run_program(run_request(folder, {"--dry-run", "--json"}), 30.0), 2, {"--json"});
  EXPECT_THAT(entries(folder), IsEmpty());
}

TEST(RunNeeds, MpirunOrSaysHowToGetIt) {
  const ScratchFolder folder;
  ProgramRequest request = run_request(folder, {"--sizes", "64"});
  request.environment["PATH"] = "/nowhere";
  expect_clear(run_program(request, 30.0), 3, {"'mpirun'", "openmpi-bin"});
  EXPECT_THAT(entries(folder), IsEmpty());
}

TEST(RunNeeds, NoMpirunAroundIt) {
  const ScratchFolder folder;
  ProgramRequest request = run_request(folder, {"--sizes", "64"});
  request.environment["OMPI_COMM_WORLD_SIZE"] = "2";
  expect_clear(run_program(request, 30.0), 2, {"without mpirun", "--np"});
  EXPECT_THAT(entries(folder), IsEmpty());
}

TEST(RunNeeds, OpenMpisMpirunOrSaysWhoseItIs) {
  const ScratchFolder folder;
  write_executable(folder / "mpirun",
                   "#!/bin/sh\nprintf 'HYDRA build details:\\n Version: 4.0.2\\n'\n");
  ProgramRequest request = run_request(folder, {"--sizes", "64", "--launches", "1"});
  request.environment["PATH"] = folder.path().string() + ":/usr/bin:/bin";
  const std::string said = "mpirun' is of MPICH 4.0.2, not of Open MPI";
  const Outcome outcome = with_status(3, run_program(request, 30.0));
  EXPECT_THAT(outcome.error, HasSubstr(said));
  EXPECT_THAT(outcome.error, HasSubstr("see " + (folder / "out/jobs").string()));
  request.arguments = {LINKGAIN, "bench", "--backend", "mpi"};
  EXPECT_THAT(with_status(3, run_program(request, 30.0)).error, HasSubstr(said));
}

TEST(RunNeeds, GpusUnlessTheMpiBackendIsAskedFor) {
  const ScratchFolder folder;
  for (const Words& arguments :
       {Words{"run"}, {"run", "--backend", "nccl"}, {"run", "--gpus", "0,1"}}) {
    ProgramRequest request = linkgain(folder, arguments);
    request.environment["CUDA_VISIBLE_DEVICES"] = "";
    expect_clear(run_program(request, 30.0), 3, {"nccl", "--backend mpi"});
  }
  EXPECT_THAT(entries(folder), IsEmpty());
}

/// Asks for values that no machine could take, on one without GPUs.
TEST(RunWithoutGpus, TellsOfWrongOptionsFirst) {
  const ScratchFolder folder;
  const std::vector<Words> all{{"--np", "-3"},
                               {"--np", "9"},
                               {"--np", "two"},
                               {"--np", "3", "--gpus", "0,1"},
                               {"--gpus", "0,0"},
                               {"--gpus", "0"},
                               {"--gpus", "-1,0"},
                               {"--launches", "0"},
                               {"--launches", "2000"},
                               {"--variant", "=A=1"},
                               {"--variant", "a:1A=1"},
                               {"--variant", "a:A"},
                               {"--variant", "p2"},
                               {"--variant", "a:worker=/nowhere"},
                               {"--variant", "a:nccl=/nowhere"},
                               {"--variant", "a:A=1", "--variant", "a:A=2"},
                               {"--launcher", "srum"},
                               {"--launcher", "srun", "--hostfile", "/dev/null"},
                               {"--hostfile", "/nowhere"},
                               {"--sizes", "6"},
                               {"--sizes", "0"},
                               {"--only", "all_reduc"},
                               {"--only", "gpt2_step", "--sizes", "64K"},
                               {"--only", "broadcast", "--root", "9"},
                               {"--only", "send_recv", "--pattern", "one-way", "--pair", "0-9"},
                               {"--pair", "first"},
                               {"--type", "float31"},
                               {"--reduction", "least"},
                               {"--pattern", "star"},
                               {"--buffers", "none"},
                               {"--launch-mode", "none"},
                               {"--steps", "7"},
                               {"--only", "all_reduce", "--steps", "20"},
                               {"--tokens", "/nowhere"},
                               {"--model-size", "none"},
                               {"--profile", "none"},
                               {"--profile", "./none.toml"},
                               {"--ci-width", "2"},
                               {"--budget", "0"},
                               {"--timeout", "0"},
                               {"--schedule", "none"},
                               {"--label", "a b"},
                               {"--resume", "/nowhere"},
                               {"--backend", "none"},
                               {"--backend", "mpi", "--require-healthy"}};
  for (Words words : all) {
    words.insert(words.begin(), "run");
    ProgramRequest request = linkgain(folder, words);
    request.environment["CUDA_VISIBLE_DEVICES"] = "";
    request = on_machine("no-driver", request);
    const Outcome outcome = run_program(request, 30.0);
    EXPECT_EQ(outcome.status, 2) << testing::PrintToString(words) << outcome.error;
  }
  EXPECT_THAT(entries(folder), IsEmpty());
}

TEST(ReportProgram, RefusesWhatIsNoRecord) {
  const ScratchFolder folder;
  std::ofstream(folder / "text") << "no record\n";
  std::ofstream(folder / "other.json") << "{\"schema\": \"other\"}\n";
  std::ofstream(folder / "empty").close();
  for (const std::string name : {"text", "other.json", "empty", "missing", "."}) {
    expect_clear(run_program(linkgain(folder, {"report", name}), 30.0), 2, {});
  }
  expect_clear(run_program(linkgain(folder, {"report"}), 30.0), 2, {"results/", "RECORD"});
}

TEST(ReportProgram, WritesPagesAndPicturesAlone) {
  const ScratchFolder folder;
  const std::string record = std::string(RESULTS_FOLDER) + "/2xH200-default";
  const Words words{"report", record, "--format", "md", "-o", "report.md"};
  expect_clear(run_program(linkgain(folder, words), 30.0), 2, {"--format html and svg", "> FILE"});
  EXPECT_THAT(entries(folder), IsEmpty());
}

TEST(HelpOfLinkgain, HasTwoExamplesAndTheExitCodes) {
  const ScratchFolder folder;
  for (const std::string command : {"run", "topo", "doctor", "report"}) {
    const Outcome outcome = run_program(linkgain(folder, {command, "--help"}), 30.0);
    EXPECT_EQ(outcome.status, 0);
    const std::size_t examples = outcome.output.find("Examples:");
    ASSERT_NE(examples, std::string::npos);
    EXPECT_THAT(lines_of(outcome.output.substr(examples)), SizeIs(testing::Ge(3)));
  }
  const Outcome outcome = run_program(linkgain(folder, {"--help"}), 30.0);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("run"), HasSubstr("report"), HasSubstr("128+n")));
  EXPECT_EQ(run_program(linkgain(folder, {"--version"}), 30.0).status, 0);
}

TEST(DryRun, PlansWithoutGpusAndSaysSo) {
  const ScratchFolder folder;
  ProgramRequest request =
      linkgain(folder, {"run", "--dry-run", "--np", "4", "--only", "all_reduce"});
  request.environment = {{"LINKGAIN_NVML_LIBRARY", NVML_DOUBLE},
                         {"LINKGAIN_NVML_SCENARIO", "no-driver"},
                         {"NCCL_P2P_DISABLE", "1"}};
  const Outcome outcome = with_status(0, run_program(request));
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("nccl, 4 ranks"), HasSubstr("/np4"),
                    HasSubstr("a machine with 4 GPUs"), HasSubstr("Notice: NCCL_P2P_DISABLE=1")));
  request.arguments.erase(std::ranges::find(request.arguments, "--dry-run"));
  EXPECT_EQ(run_program(request).status, 3) << "measuring needs GPUs";
}

}  // namespace
}  // namespace linkgain::test

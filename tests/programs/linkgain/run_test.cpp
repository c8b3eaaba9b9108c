#include "bench/programs/linkgain/run.cpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "bench/programs/linkgain/run_result.hpp"
#include "linkgain/base/temporary_folder.hpp"
#include "parsing.hpp"
#include "support/full_record.hpp"
#include "support/golden.hpp"
#include "support/process_support.hpp"
#include "support/run_plan_support.hpp"
#include "support/situations.hpp"
#include "support/token_file.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

RunOptions run_with(const std::vector<std::string>& arguments) {
  return options_of<RunOptions>({"run"}, arguments);
}

TEST(CommandLine, OfRunAloneAsksForNothing) {
  const RunOptions options = run_with({});
  EXPECT_THAT(options.argv, ElementsAre("linkgain", "run"));
  EXPECT_FALSE(options.backend);
  EXPECT_EQ(options.profile, Profile::standard);
  EXPECT_THAT(options.operations, IsEmpty());
  EXPECT_THAT(options.sizes, IsEmpty());
  EXPECT_THAT(options.variants, IsEmpty());
  EXPECT_FALSE(options.ranks || options.budget || options.launches || options.schedule ||
               options.out || options.hostfile || options.pair || options.in_place);
  EXPECT_FALSE(options.json || options.quiet || options.require_healthy);
  EXPECT_TRUE(options.color);
  EXPECT_FALSE(options.ci_width);
  EXPECT_EQ(options.timeout, Seconds{60});
  EXPECT_EQ(options.launcher, "");
}

TEST(CommandLine, SelectsWhatIsMeasured) {
  const RunOptions options = run_with({"--only",        "send_recv,all_reduce",
                                       "--sizes",       "8:1K:x4",
                                       "--type",        "int8,half",
                                       "--reduction",   "max",
                                       "--launch-mode", "stream,auto,graph",
                                       "--pattern",     "one-way",
                                       "--pair",        "1-0",
                                       "--root",        "0,2",
                                       "--buffers",     "plain,symmetric",
                                       "--in-place",    "--profile",
                                       "full"});
  EXPECT_THAT(options.operations, ElementsAre(OperationKind::send_recv, OperationKind::all_reduce));
  EXPECT_EQ(options.sizes.size(), 5U);
  EXPECT_THAT(options.types, ElementsAre(DataType::int8, DataType::float16));
  EXPECT_THAT(options.reductions, ElementsAre(Reduction::max));
  EXPECT_THAT(options.launch_modes,
              ElementsAre(LaunchChoice::stream, LaunchChoice::automatic, LaunchChoice::graph));
  EXPECT_THAT(options.patterns, ElementsAre(Pattern::one_way));
  EXPECT_EQ(options.pair, (Pair{1, 0, false}));
  EXPECT_THAT(options.roots, ElementsAre(0, 2));
  EXPECT_THAT(options.buffers, ElementsAre(Buffers::plain, Buffers::symmetric));
  EXPECT_TRUE(options.in_place);
  EXPECT_EQ(options.profile, Profile::full);
}

TEST(CommandLine, SaysHowJobsAreRun) {
  const RunOptions options = run_with({"--backend",  "mpi",
                                       "--gpus",     "2,0",
                                       "--np",       "4",
                                       "--variant",  "p2p",
                                       "--variant",  "two:NCCL_ALGO=Ring,Tree,NCCL_PROTO=LL",
                                       "--launches", "3",
                                       "--schedule", "sequential",
                                       "--launcher", "/opt/mpirun",
                                       "--hostfile", "hosts",
                                       "--timeout",  "5.5"});
  EXPECT_EQ(options.backend, BackendKind::mpi);
  EXPECT_THAT(options.gpus, ElementsAre(2, 0));
  EXPECT_EQ(options.ranks, 4);
  EXPECT_THAT(options.variants, ElementsAre("p2p", "two:NCCL_ALGO=Ring,Tree,NCCL_PROTO=LL"));
  EXPECT_EQ(options.launches, 3);
  EXPECT_EQ(options.schedule, Schedule::sequential);
  EXPECT_EQ(options.launcher, "/opt/mpirun");
  EXPECT_EQ(options.hostfile, "hosts");
  EXPECT_EQ(options.timeout, Seconds{5.5});
  EXPECT_EQ(run_with({"--schedule", "paired"}).schedule, Schedule::paired);
}

TEST(CommandLine, SaysWhatComesOut) {
  const RunOptions options = run_with({"--budget", "90.5", "--ci-width", "0.02", "--out", "here",
                                       "--json", "--quiet", "--no-color", "--require-healthy"});
  EXPECT_EQ(options.budget, Seconds{90.5});
  EXPECT_EQ(options.ci_width, 0.02);
  EXPECT_EQ(options.out, "here");
  EXPECT_TRUE(options.json && options.quiet && options.require_healthy);
  EXPECT_FALSE(options.color);
}

TEST(CommandLine, TakesAProfileFromAFile) {
  const std::string file = testing::TempDir() + "profile-" + std::to_string(::getpid()) + ".toml";
  std::ofstream(file) << "profile = \"node\"\nbudget = \"5m\"\nci-width = 5%\nquiet = true\n"
                         "type = \"int8,int32\"\nlaunches = 3\nbatch = 2\n";
  const RunOptions options = run_with({"--profile", file, "--launches", "4"});
  EXPECT_EQ(options.profile, Profile::node);
  EXPECT_EQ(options.profile_file, file);
  EXPECT_EQ(options.budget, Seconds{300});
  EXPECT_EQ(options.ci_width, 0.05);
  EXPECT_TRUE(options.quiet);
  EXPECT_THAT(options.types, ElementsAre(DataType::int8, DataType::int32));
  EXPECT_EQ(options.launches, 4);
  EXPECT_EQ(options.training.samples, 2);
  std::ofstream(file) << "budget = \"8d\"\n";
  EXPECT_THAT(refusal({"run", "--profile", file}), HasSubstr("'8d'"));
  std::filesystem::remove(file);
}

TEST(CommandLine, KeepsZeroAndBelowForThePlanToRefuse) {
  EXPECT_EQ(run_with({"--np", "-1"}).ranks, -1);
  EXPECT_EQ(run_with({"--launches", "0"}).launches, 0);
}

/// Starts nothing for a script's `--out="$folder" --dry-run` where the variable is empty.
TEST(CommandLine, TakesNoOptionForTheValueOfAnother) {
  for (const std::string option : {"--out", "--sizes", "--label"}) {
    EXPECT_THAT(refusal({"run", option + "=", "--dry-run"}), HasSubstr("empty")) << option;
  }
  EXPECT_NE(refusal({"run", "--quiet=", "--dry-run"}), "accepted");
}

/// Leaves the words to CLI11: they differ by its version.
TEST(CommandLine, RefusesAnOptionWithoutItsValueOrGivenTwice) {
  EXPECT_THAT(refusal({"run", "--out"}), HasSubstr("--out"));
  EXPECT_THAT(refusal({"run", "--np", "2", "--np", "3"}), HasSubstr("--np"));
}

/// Covers what scripts leave empty.
TEST(TestVariables, AreNoneWhereTheyAreEmpty) {
  const std::string name = "LINKGAIN_TEST_FAULT";
  Variant variant;
  EXPECT_THAT(warnings_of_test_variables({{name, ""}}, {variant}), IsEmpty());
  EXPECT_THAT(warnings_of_test_variables({{name, "die@1"}}, {variant}), SizeIs(1));
  variant.environment = {{name, ""}};
  EXPECT_THAT(warnings_of_test_variables({}, {variant}), IsEmpty());
  variant.environment = {{name, "die@1"}};
  EXPECT_THAT(warnings_of_test_variables({}, {variant}), SizeIs(1));
}

/// Returns the exit status, and whether the journal of the run is still there.
std::pair<int, bool> kept(Record record) {
  const ScratchFolder folder;
  RunDirectory directory = RunDirectory::begin(folder.path(), RunDirectory::kRuns);
  std::ofstream(directory.journal()) << "a journal\n";
  std::optional<SignalWatch> watch;
  testing::internal::CaptureStdout();
  const int status = keep_and_print(record, directory, {.json = true}, watch);
  testing::internal::GetCapturedStdout();
  return {status, std::filesystem::exists(folder / RunDirectory::kJournal)};
}

TEST(KeepAndPrint, KeepsTheJournalOfARecordThatIsNone) {
  Record record = full_record();
  EXPECT_EQ(kept(record), std::pair(record.exit_code, false));
  record.cases[0].variants[1].verification->wrong = -7;
  EXPECT_EQ(kept(record), std::pair(6, true));
}

// Values of training's options that cannot be meant.

std::string refused(const std::string& option, const std::string& value) {
  return refusal({"run", "--only", "gpt2_step", option, value});
}

TokenFacts facts_of(const std::string& path) {
  return options_of<RunOptions>({"run", "--only", "gpt2_step", "--tokens", path}).token_facts;
}

TEST(TrainingOptions, TakeFractionsOfABucketsSize) {
  EXPECT_EQ(refused("--bucket-mb", "0.25"), "accepted");
}

/// Writes 256 numbers of 32 bits, of which three say something, and tokens of 16 bits.
void write_tokens(const std::filesystem::path& path, std::int32_t magic, std::int32_t count) {
  std::vector<std::int32_t> header(256, 0);
  header[0] = magic;
  header[1] = 1;
  header[2] = count;
  const std::vector<std::uint16_t> tokens(static_cast<std::size_t>(count), 7);
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(header.data()), 1024);
  file.write(reinterpret_cast<const char*>(tokens.data()), 2L * count);
}

TEST(TokenFiles, AreRefusedBeforeAnythingIsStarted) {
  const ScratchFolder folder;
  const std::string path = (folder / "tokens.bin").string();
  Situations refusals;
  const auto add = [&](const std::string& situation, const std::string& tokens) {
    refusals.add(situation,
                 with_replaced(refused("--tokens", tokens), folder.path().string(), "FOLDER"));
  };
  add("not there", path);
  add("a folder", folder.path().string());
  std::ofstream(path) << "a text";
  add("a text", path);
  write_tokens(path, 1, 100);
  add("another first number", path);
  expect_golden(refusals.text(), "refused_token_files.txt");
  write_tokens(path, 20240520, 100);
  EXPECT_EQ(facts_of(path).count, 100);
}

// Writes so many tokens that they are read in more than one piece; the largest stands twice.
TEST(TokenFiles, AreReadForTheirLargestToken) {
  const ScratchFolder folder;
  const std::string path = (folder / "tokens.bin").string();
  std::vector<std::uint16_t> tokens(200'000, 7);
  tokens[3] = 49999;
  tokens[150'000] = 50256;
  tokens[199'999] = 50256;
  write_token_file(path, tokens);
  const TokenFacts facts = facts_of(path);
  EXPECT_EQ(facts.count, 200'000);
  EXPECT_EQ(facts.largest, 50256);
  EXPECT_EQ(facts.largest_at, 150'000);
  EXPECT_EQ(facts_of(path).digest, facts.digest);
  tokens[199'998] = 8;
  write_token_file(path, tokens);
  EXPECT_NE(facts_of(path).digest, facts.digest);
}

std::vector<std::string> names_of(const RunPlan& plan) {
  std::vector<std::string> names;
  for (const Case& c : plan.cases) names.push_back(case_name(c));
  return names;
}

TEST(Shards, AreLeftOutWhereOnlyAProfileBroughtThem) {
  RunOptions options;
  options.profile = Profile::full;
  options.ranks = 5;
  const RunPlan plan = make_plan(options, with_gpus(8));
  EXPECT_THAT(names_of(plan), Contains("gpt2_step/fp32/gpt2/np5"));
  EXPECT_THAT(names_of(plan), Each(Not(HasSubstr("zero"))));
  options.ranks = 4;
  EXPECT_THAT(names_of(make_plan(options, with_gpus(8))),
              Contains("gpt2_step/fp32/gpt2/np4/zero2"));
}

TEST(TrainingPlans, TakeTokensAndShardsThatFit) {
  const auto refused = [](const auto& change) {
    RunOptions options;
    options.operations = {OperationKind::gpt2_step};
    change(options);
    return refusal(options).text;
  };
  using Options = RunOptions&;
  const auto of_tokens = [&](std::int64_t count, int largest, std::optional<int> length = {}) {
    return refused([&](Options o) {
      o.tokens = "text.bin";
      o.token_facts = {.count = count, .largest = largest, .largest_at = 17};
      o.training.length = length;
    });
  };
  EXPECT_EQ(of_tokens(2000, 50256), "accepted");
  EXPECT_EQ(of_tokens(2000, 131), "accepted");
  EXPECT_EQ(of_tokens(1025, 0), "accepted") << "a sequence and the token after it";
  EXPECT_EQ(of_tokens(33, 0, 32), "accepted");
  const auto of_shards = [&](TrainingStrategy strategy, int ranks, ModelSize model) {
    return refused([&](Options o) {
      o.training.models = {model};
      o.training.strategies = {strategy};
      o.ranks = ranks;
      if (model == ModelSize::tiny) o.backend = BackendKind::mpi;
    });
  };
  EXPECT_EQ(of_shards(TrainingStrategy::zero3, 3, ModelSize::gpt2), "accepted") << "3 divides 768";
  EXPECT_EQ(of_shards(TrainingStrategy::ddp, 3, ModelSize::tiny), "accepted");
  EXPECT_EQ(of_shards(TrainingStrategy::zero2, 4, ModelSize::tiny), "accepted");
}

TEST(TrainingPlans, SayWhyTheyAreRefused) {
  Situations refusals;
  const auto add = [&](const std::string& situation, const RunOptions& options) {
    refusals.add(situation, refusal_of<UsageError>([&] { make_plan(options, with_gpus(4)); }));
  };
  RunOptions options;
  options.operations = {OperationKind::gpt2_step};
  options.tokens = "text.bin";
  options.token_facts = {.count = 1024, .largest = 0, .largest_at = 0};
  add("a token too few", options);
  options.token_facts = {.count = 2000, .largest = 50257, .largest_at = 17};
  add("a token that the model does not know", options);
  options.token_facts.largest = 131;
  options.training.models = {ModelSize::gpt2, ModelSize::tiny};
  options.training.length = 32;
  add("a token that the smaller of two models does not know", options);
  options = {};
  options.training.models = {ModelSize::tiny};
  options.training.strategies = {TrainingStrategy::ddp, TrainingStrategy::zero3};
  options.ranks = 3;
  add("shards of parameters for 3 ranks", options);
  options.backend = BackendKind::mpi;
  options.training.strategies = {TrainingStrategy::zero2};
  add("shards of buckets for 3 ranks on CPUs", options);
  options = {};
  options.operations = {OperationKind::gpt2_step};
  options.steps = 15;
  add("steps that are no multiple of a block's", options);
  options.steps = 20;
  add("steps for two launches", options);
  options.launches = 2;
  EXPECT_EQ(make_plan(options, with_gpus(2)).training->steps, 20);
  options.launches.reset();
  options.operations = {OperationKind::all_reduce};
  options.steps = 10;
  add("steps of an all_reduce", options);
  options.tokens = "text.bin";
  add("steps and tokens of an all_reduce", options);
  options.steps.reset();
  add("tokens of an all_reduce", options);
  options = {};
  options.profile = Profile::full;
  options.ranks = 5;
  const RunPlan plan = make_plan(options, with_gpus(8));
  const auto warning = std::ranges::find(plan.warnings, "left-out", &Warning::code);
  ASSERT_NE(warning, plan.warnings.end());
  refusals.add("shards that a profile brought for 5 ranks: left out",
               warning->text + "\n-> " + warning->advice);
  expect_golden(refusals.text(), "refused_trainings.txt");
}

}  // namespace
}  // namespace linkgain::test

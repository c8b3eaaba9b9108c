#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "linkgain/plan/run_plan.hpp"
#include "parsing.hpp"
#include "support/golden.hpp"
#include "support/process_support.hpp"
#include "support/run_plan_support.hpp"
#include "support/situations.hpp"
#include "support/token_file.hpp"

/// Values of training's options that cannot be meant.
namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;

std::string refused(const std::string& option, const std::string& value) {
  return refusal({"run", "--only", "gpt2_step", option, value});
}

TokenFacts facts_of(const std::string& path) {
  return options_of<RunOptions>({"run", "--only", "gpt2_step", "--tokens", path}).token_facts;
}

TEST(TrainingOptions, TakeFractionsOfABucketsSize) {
  EXPECT_EQ(refused("--bucket-mb", "0.25"), "accepted");
}

/// 256 numbers of 32 bits, of which three say something, and tokens of 16 bits.
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
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "tokens.bin").string();
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

TEST(TokenFiles, NeedOneSequenceAndTheTokenAfterIt) {
  RunOptions options;
  options.operations = {OperationKind::gpt2_step};
  options.tokens = "short.bin";
  options.token_facts.count = 1024;
  EXPECT_THAT(usage_error(options), AllOf(HasSubstr("short.bin"), HasSubstr("1024 tokens")));
  options.token_facts.count = 1025;
  EXPECT_EQ(refusal(options).text, "accepted");
  options.token_facts.count = 33;
  options.training.length = 32;
  EXPECT_EQ(refusal(options).text, "accepted");
}

// Of so many tokens that they are read in more than one piece; the largest stands twice.
TEST(TokenFiles, AreReadForTheirLargestToken) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "tokens.bin").string();
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

TEST(TokenFiles, HaveOnlyTokensThatTheModelKnows) {
  RunOptions options;
  options.operations = {OperationKind::gpt2_step};
  options.tokens = "text.bin";
  options.token_facts = {.count = 2000, .largest = 50256, .largest_at = 17};
  EXPECT_EQ(refusal(options).text, "accepted");
  options.token_facts.largest = 50257;
  EXPECT_THAT(usage_error(options), AllOf(HasSubstr("text.bin"), HasSubstr("50257")));
  options.token_facts.largest = 131;
  EXPECT_EQ(refusal(options).text, "accepted");
  options.training.models = {ModelSize::gpt2, ModelSize::tiny};
  options.training.length = 32;
  EXPECT_THAT(usage_error(options), AllOf(HasSubstr("text.bin"), HasSubstr("131")));
}

std::vector<std::string> names_of(const RunPlan& plan) {
  std::vector<std::string> names;
  for (const Case& c : plan.cases) names.push_back(case_name(c));
  return names;
}

TEST(Shards, AreRefusedWhereRanksDoNotDivideThem) {
  RunOptions options;
  options.training.strategies = {TrainingStrategy::ddp, TrainingStrategy::zero3};
  options.ranks = 3;
  EXPECT_EQ(refusal(options).text, "accepted") << "3 divides 768";
  options.training.models = {ModelSize::tiny};
  const Refusal found = refusal(options);
  EXPECT_EQ(found.exit_code, ExitCode::usage);
  EXPECT_THAT(found.text, AllOf(HasSubstr("zero3"), HasSubstr("3 ranks")));
  EXPECT_THAT(found.advice, AllOf(HasSubstr("2, 4 or 8"), HasSubstr("ddp")));
  options.training.strategies = {TrainingStrategy::ddp};
  EXPECT_EQ(refusal(options).text, "accepted");
}

TEST(Shards, AreRefusedOfBucketsAndOnCpusToo) {
  RunOptions options;
  options.backend = BackendKind::mpi;
  options.training.strategies = {TrainingStrategy::zero2};
  options.ranks = 3;
  EXPECT_THAT(usage_error(options), AllOf(HasSubstr("zero2"), HasSubstr("3 ranks")));
  EXPECT_THAT(refusal(options).advice, HasSubstr("2, 4 or 8"));
  options.ranks = 4;
  EXPECT_EQ(refusal(options).text, "accepted");
}

TEST(Shards, AreLeftOutWhereOnlyAProfileBroughtThem) {
  RunOptions options;
  options.profile = Profile::full;
  options.ranks = 5;
  const RunPlan plan = make_plan(options, with_gpus(8));
  EXPECT_THAT(names_of(plan), Contains("gpt2_step/fp32/gpt2/np5"));
  EXPECT_THAT(names_of(plan), Each(Not(HasSubstr("zero"))));
  const auto warning = std::ranges::find(plan.warnings, "left-out", &Warning::code);
  ASSERT_NE(warning, plan.warnings.end());
  EXPECT_THAT(warning->text, HasSubstr("gpt2_step/fp32/gpt2/np5/zero2, "));
  EXPECT_THAT(warning->advice, HasSubstr("2, 3, 4, 6 or 8"));
  options.ranks = 4;
  EXPECT_THAT(names_of(make_plan(options, with_gpus(8))),
              Contains("gpt2_step/fp32/gpt2/np4/zero2"));
}

TEST(OptionsOfTrainings, AreNamedWhereThereIsNone) {
  RunOptions options;
  options.operations = {OperationKind::all_reduce};
  options.steps = 10;
  EXPECT_THAT(usage_error(options), AllOf(HasSubstr("--steps"), Not(HasSubstr("--tokens"))));
  options.tokens = "text.bin";
  EXPECT_THAT(usage_error(options), AllOf(HasSubstr("--steps"), HasSubstr("--tokens")));
  options.steps.reset();
  EXPECT_THAT(usage_error(options), AllOf(HasSubstr("--tokens"), Not(HasSubstr("--steps"))));
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

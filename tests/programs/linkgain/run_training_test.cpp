#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "linkgain/run/run_plan.hpp"
#include "parsing.hpp"
#include "support/process_support.hpp"
#include "support/run_plan_support.hpp"
#include "support/token_file.hpp"

/// Values of training's options that cannot be meant.
namespace linkgain {
namespace {

using test::TemporaryFolder;
using test::usage_error;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string refusal(const std::string& option, const std::string& value) {
  return test::refusal({"run", "--only", "gpt2_step", option, value});
}

TokenFacts facts_of(const std::string& path) {
  return test::options_of<RunOptions>({"run", "--only", "gpt2_step", "--tokens", path}).token_facts;
}

TEST(TrainingOptions, SayWhatKindOfNumberTheyTake) {
  EXPECT_EQ(refusal("--batch", "1.5"), "--batch 1.5 is no whole number");
  EXPECT_EQ(refusal("--bucket-mb", "2.5x"), "--bucket-mb 2.5x is no number");
  EXPECT_EQ(refusal("--steps", "many"), "--steps many is no number");
  EXPECT_EQ(refusal("--sequence", "12x"), "--sequence 12x is no number");
  EXPECT_EQ(refusal("--batch", "99999999999999999999"),
            "--batch 99999999999999999999 is out of range");
  EXPECT_EQ(refusal("--dropout", "half"), "--dropout half is no number");
}

TEST(TrainingOptions, TakeFractionsOfABucketsSize) {
  EXPECT_EQ(refusal("--bucket-mb", "0.25"), "accepted");
}

TEST(TrainingOptions, RefuseAnEmptyValue) {
  for (const char* option :
       {"--batch", "--sequence", "--dropout", "--bucket-mb", "--steps", "--tokens"}) {
    EXPECT_EQ(refusal(option, ""), std::string(option) + " has an empty value");
  }
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
  EXPECT_THAT(refusal("--tokens", path), StartsWith("cannot read the token file " + path));
  EXPECT_EQ(refusal("--tokens", folder.path().string()),
            folder.path().string() + " is a folder, no token file");
  std::ofstream(path) << "a text";
  EXPECT_THAT(refusal("--tokens", path), HasSubstr("6 bytes, less than the header"));
  write_tokens(path, 1, 100);
  EXPECT_THAT(refusal("--tokens", path), HasSubstr("its first number is 1, not 20240520"));
  write_tokens(path, 20240520, 100);
  EXPECT_EQ(facts_of(path).count, 100);
}

TEST(TokenFiles, NeedOneSequenceAndTheTokenAfterIt) {
  RunOptions options;
  options.operations = {OperationKind::gpt2_step};
  options.tokens = "short.bin";
  options.token_facts.count = 1024;
  EXPECT_EQ(usage_error(options),
            "short.bin has 1024 tokens: not one sequence of 1024 and the token after");
  options.token_facts.count = 1025;
  EXPECT_EQ(test::refusal(options).text, "accepted");
  options.token_facts.count = 33;
  options.training.length = 32;
  EXPECT_EQ(test::refusal(options).text, "accepted");
}

// Of so many tokens that they are read in more than one piece; the largest stands twice.
TEST(TokenFiles, AreReadForTheirLargestToken) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "tokens.bin").string();
  std::vector<std::uint16_t> tokens(200'000, 7);
  tokens[3] = 49999;
  tokens[150'000] = 50256;
  tokens[199'999] = 50256;
  test::write_token_file(path, tokens);
  const TokenFacts facts = facts_of(path);
  EXPECT_EQ(facts.count, 200'000);
  EXPECT_EQ(facts.largest, 50256);
  EXPECT_EQ(facts.largest_at, 150'000);
}

TEST(TokenFiles, HaveOnlyTokensThatTheModelKnows) {
  RunOptions options;
  options.operations = {OperationKind::gpt2_step};
  options.tokens = "text.bin";
  options.token_facts = {.count = 2000, .largest = 50256, .largest_at = 17};
  EXPECT_EQ(test::refusal(options).text, "accepted");
  options.token_facts.largest = 50257;
  EXPECT_EQ(usage_error(options),
            "text.bin has token 50257 at place 17: the model knows 50257 tokens");
  options.token_facts.largest = 131;
  EXPECT_EQ(test::refusal(options).text, "accepted");
  options.training.models = {ModelSize::gpt2, ModelSize::tiny};
  options.training.length = 32;
  const test::Refusal found = test::refusal(options);
  EXPECT_EQ(found.text, "text.bin has token 131 at place 17: the model knows 131 tokens");
  EXPECT_EQ(found.advice, "take a larger model, or a text with fewer tokens");
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
  EXPECT_EQ(test::refusal(options).text, "accepted") << "3 divides 768";
  options.training.models = {ModelSize::tiny};
  const test::Refusal found = test::refusal(options);
  EXPECT_EQ(found.exit_code, ExitCode::usage);
  EXPECT_EQ(found.text,
            "zero3 needs equal shares of the parameters, and 3 ranks do not divide them");
  EXPECT_EQ(found.advice, "take 2, 4 or 8 ranks, or the strategy ddp");
  options.training.strategies = {TrainingStrategy::ddp};
  EXPECT_EQ(test::refusal(options).text, "accepted");
}

TEST(Shards, AreRefusedOfBucketsAndOnCpusToo) {
  RunOptions options;
  options.backend = BackendKind::mpi;
  options.training.strategies = {TrainingStrategy::zero2};
  options.ranks = 3;
  EXPECT_EQ(usage_error(options),
            "zero2 needs equal shares of the parameters, and 3 ranks do not divide them");
  EXPECT_EQ(test::refusal(options).advice, "take 2, 4 or 8 ranks, or the strategy ddp");
  options.ranks = 4;
  EXPECT_EQ(test::refusal(options).text, "accepted");
}

TEST(Shards, AreLeftOutWhereOnlyAProfileBroughtThem) {
  RunOptions options;
  options.profile = Profile::full;
  options.ranks = 5;
  const RunPlan plan = make_plan(options, test::with_gpus(8));
  EXPECT_THAT(names_of(plan), Contains("gpt2_step/fp32/gpt2/np5"));
  EXPECT_THAT(names_of(plan), Each(Not(HasSubstr("zero"))));
  const auto warning = std::ranges::find(plan.warnings, "left-out", &Warning::code);
  ASSERT_NE(warning, plan.warnings.end());
  EXPECT_THAT(warning->text, StartsWith("left out, because zero2 needs equal shares of the "
                                        "parameters, and 5 ranks do not divide them: "
                                        "gpt2_step/fp32/gpt2/np5/zero2, "));
  EXPECT_EQ(warning->advice, "take 2, 3, 4, 6 or 8 ranks, or the strategy ddp");
  options.ranks = 4;
  EXPECT_THAT(names_of(make_plan(options, test::with_gpus(8))),
              Contains("gpt2_step/fp32/gpt2/np4/zero2"));
}

TEST(OptionsOfTrainings, AreNamedWhereThereIsNone) {
  RunOptions options;
  options.operations = {OperationKind::all_reduce};
  options.steps = 10;
  test::Refusal found = test::refusal(options);
  EXPECT_EQ(found.text, "--steps goes with gpt2_step");
  EXPECT_EQ(found.advice, "add --only gpt2_step, or leave it out");
  options.tokens = "text.bin";
  found = test::refusal(options);
  EXPECT_EQ(found.text, "--steps and --tokens go with gpt2_step");
  EXPECT_EQ(found.advice, "add --only gpt2_step, or leave them out");
  options.steps.reset();
  EXPECT_EQ(usage_error(options), "--tokens goes with gpt2_step");
}

TEST(Steps, AreOfferedInBlocks) {
  RunOptions options;
  options.operations = {OperationKind::gpt2_step};
  options.steps = 15;
  const test::Refusal found = test::refusal(options);
  EXPECT_EQ(found.text, "--steps 15 is no multiple of 10");
  EXPECT_THAT(found.advice, HasSubstr("take 10 or 20"));
}

}  // namespace
}  // namespace linkgain

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "coordinator/process_support.hpp"
#include "coordinator/run_plan_support.hpp"
#include "linkgain/coordinator/cli.hpp"

/// Values of training's options that cannot be meant.
namespace linkgain {
namespace {

using test::TemporaryFolder;
using test::usage_error;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

Request parse(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"linkgain", "run", "--only", "gpt2_step"});
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

std::string refusal(const std::string& option, const std::string& value) {
  try {
    parse({option, value});
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(TrainingOptions, SayWhatKindOfNumberTheyTake) {
  EXPECT_EQ(refusal("--batch", "1.5"), "--batch 1.5 is no whole number");
  EXPECT_EQ(refusal("--bucket-mb", "2.5"), "--bucket-mb 2.5 is no whole number");
  EXPECT_EQ(refusal("--steps", "many"), "--steps many is no number");
  EXPECT_EQ(refusal("--sequence", "12x"), "--sequence 12x is no number");
  EXPECT_EQ(refusal("--batch", "99999999999999999999"),
            "--batch 99999999999999999999 is out of range");
  EXPECT_EQ(refusal("--dropout", "half"), "--dropout half is no number");
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
  EXPECT_EQ(std::get<RunOptions>(parse({"--tokens", path})).token_count, 100);
}

TEST(TokenFiles, NeedOneSequenceAndTheTokenAfterIt) {
  RunOptions options;
  options.operations = {OperationKind::gpt2_step};
  options.tokens = "short.bin";
  options.token_count = 1024;
  EXPECT_EQ(usage_error(options),
            "short.bin has 1024 tokens: not one sequence of 1024 and the token after");
  options.token_count = 1025;
  EXPECT_EQ(test::refusal(options).text, "accepted");
  options.token_count = 33;
  options.training.length = 32;
  EXPECT_EQ(test::refusal(options).text, "accepted");
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

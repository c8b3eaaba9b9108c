#include "linkgain/gpt2/token_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <numeric>
#include <vector>

#include "linkgain/gpt2/training_parameters.hpp"
#include "support/situations.hpp"
#include "support/token_file.hpp"

namespace linkgain::test {
namespace {

/// A token file of its own, removed at the end.
class TokenFile : public ::testing::Test {
 protected:
  ~TokenFile() override { std::filesystem::remove(path_); }

  TokenFacts facts_of(const std::vector<std::uint16_t>& tokens) const {
    write_token_file(path_, tokens);
    return survey_token_file(path_);
  }

  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("linkgain_token_file." + std::to_string(getpid())))
          .string();
};

TEST_F(TokenFile, IsOpenedAtItsFirstToken) {
  write_token_file(path_, {7, 8, 9});
  TokenFileStart start = open_token_file(path_);
  EXPECT_EQ(start.tokens, 3);
  std::uint16_t token = 0;
  start.stream.read(reinterpret_cast<char*>(&token), sizeof token);
  EXPECT_EQ(token, 7);
}

TEST_F(TokenFile, SaysWhereItsLargestTokenIs) {
  const TokenFacts facts = facts_of({3, 65535, 2, 65535});
  EXPECT_EQ(facts.count, 4);
  EXPECT_EQ(facts.largest, 65535);
  EXPECT_EQ(facts.largest_at, 1) << "the first of them";
  EXPECT_EQ(facts_of({0, 0}).largest, 0);
  EXPECT_EQ(facts_of({0, 0}).largest_at, 0);
}

// Goes beyond the 65,536 tokens that are read at a time.
TEST_F(TokenFile, IsReadToItsEnd) {
  std::vector<std::uint16_t> tokens(65536 + 2, 5);
  EXPECT_EQ(facts_of(tokens).largest_at, 0);
  tokens.back() = 6;
  EXPECT_EQ(facts_of(tokens).largest, 6);
  EXPECT_EQ(facts_of(tokens).largest_at, 65537);
}

TEST_F(TokenFile, HasADigestOfAllItsTokens) {
  std::vector<std::uint16_t> tokens(70000);
  std::iota(tokens.begin(), tokens.end(), std::uint16_t{0});
  const std::string digest = facts_of(tokens).digest;
  EXPECT_EQ(facts_of(tokens).digest, digest);
  for (const std::size_t place : {std::size_t{0}, std::size_t{65536}, tokens.size() - 1}) {
    ++tokens[place];
    EXPECT_NE(facts_of(tokens).digest, digest) << place;
    --tokens[place];
  }
  tokens.pop_back();
  EXPECT_NE(facts_of(tokens).digest, digest) << "one token less";
}

TEST_F(TokenFile, IsRefusedWithAReason) {
  Situations answers;
  const auto add = [&](const std::string& situation) {
    const std::string refusal = refusal_of([&] { survey_token_file(path_); });
    answers.add(situation, with_replaced(refusal, path_, "FILE"));
  };
  add("no file");
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  add("a pipe that nobody writes to");
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  add("a folder");
  std::filesystem::remove(path_);
  std::ofstream(path_, std::ios::binary).close();
  add("an empty file");
  std::ofstream(path_, std::ios::binary) << std::string(1023, ' ');
  add("a byte less than the header");
  const auto add_file = [&](const std::string& situation, const TokenFileHeader& header,
                            std::size_t tokens) {
    write_token_file(path_, header, std::vector<std::uint16_t>(tokens));
    add(situation);
  };
  add_file("two tokens", {.count = 2}, 2);
  add_file("the first number is 1", {.magic = 1, .count = 10}, 10);
  add_file("version 2", {.version = 2, .count = 10}, 10);
  add_file("11 tokens in the header, 10 in the file", {.count = 11}, 10);
  add_file("9 tokens in the header, 10 in the file", {.count = 9}, 10);
  add_file("-5 tokens in the header", {.count = -5}, 10);
  add_file("one token", {.count = 1}, 1);
  add_file("a header alone", {.count = 0}, 0);
  answers.expect_golden("token_files_refused.txt");
}

TEST(RequireKnown, TakesTokensBelowTheVocabulary) {
  Situations answers;
  answers.add("token 130 of 131", refusal_of([] { require_known("FILE", 130, 5, 131); }));
  answers.refuse("token 131 of 131", [] { require_known("FILE", 131, 5, 131); });
  answers.add("17 tokens for sequences of 16",
              refusal_of([] { require_sequence("FILE", 17, 16); }));
  answers.refuse("16 tokens for sequences of 16", [] { require_sequence("FILE", 16, 16); });
  answers.expect_golden("tokens_refused.txt");
}

TEST(TrainingCaseNames, AreReadBack) {
  for (const auto size : kValues<ModelSize>) EXPECT_EQ(from_name<ModelSize>(name_of(size)), size);
  for (const auto each : kValues<TrainingStrategy>) {
    EXPECT_EQ(from_name<TrainingStrategy>(name_of(each)), each);
  }
  for (const auto rule : kValues<BucketRule>) EXPECT_EQ(from_name<BucketRule>(name_of(rule)), rule);
  for (const auto each : kValues<TrainingPrecision>) {
    EXPECT_EQ(from_name<TrainingPrecision>(name_of(each)), each);
  }
}

TEST(TrainingCaseNames, AreThoseOfOptions) {
  EXPECT_EQ(from_name<ModelSize>("tiny"), ModelSize::tiny);
  EXPECT_EQ(from_name<TrainingStrategy>("zero2"), TrainingStrategy::zero2);
  EXPECT_EQ(from_name<BucketRule>("legacy"), BucketRule::legacy);
  EXPECT_EQ(from_name<TrainingPrecision>("tf32"), TrainingPrecision::tf32);
}

TEST(TrainingCaseNames, OthersAreRefusedWithTheNearest) {
  Situations answers;
  answers.refuse_each({"gpt3"}, from_name<ModelSize>);
  answers.refuse_each({"zero1"}, from_name<TrainingStrategy>);
  answers.refuse_each({"legcy"}, from_name<BucketRule>);
  answers.refuse_each({"tf23"}, from_name<TrainingPrecision>);
  answers.expect_golden("names_refused.txt");
}

}  // namespace
}  // namespace linkgain::test

#include "linkgain/exec/command_words.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/base/errors.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Words = std::vector<std::string>;

TEST(SplitWords, FollowsTheShell) {
  EXPECT_THAT(split_words("", "--args"), IsEmpty());
  EXPECT_THAT(split_words("  a\tb \n", "--args"), ElementsAre("a", "b"));
  EXPECT_THAT(split_words("'a b' \"c d\" e\\ f", "--args"), ElementsAre("a b", "c d", "e f"));
  EXPECT_THAT(split_words("--x='{\"k\": 1}' ''", "--args"), ElementsAre("--x={\"k\": 1}", ""));
  EXPECT_THAT(split_words(R"("a\"b\n" '\' $HOME *)", "--args"),
              ElementsAre("a\"b\\n", "\\", "$HOME", "*"));
  for (const char* open : {"'a", "\"a", "a\\"}) {
    EXPECT_THROW(split_words(open, "--args"), UsageError) << open;
  }
}

TEST(FilledIn, ReplacesThreeWordsAndNoOtherBraces) {
  const Placeholders place{.variant = "host", .round = 3, .arguments = {"--x", "a b"}};
  EXPECT_EQ(filled_in("{variant}/{round}", place), "host/3");
  EXPECT_EQ(filled_in("{x} {} {{round}} ${HOME} {\"a\":1}", place), "{x} {} {3} ${HOME} {\"a\":1}");
  EXPECT_EQ(filled_in("run {args}!", place), "run --x 'a b'!");
  EXPECT_THAT(filled_in(Words{"p", "{args}", "-r{round}", "sh {args}"}, place),
              ElementsAre("p", "--x", "a b", "-r3", "sh --x 'a b'"));
  EXPECT_TRUE(places_arguments({"a", "b {args}"}));
  EXPECT_FALSE(places_arguments({"a", "{arg}"}));
}

TEST(CommandLine, CanBePasted) {
  EXPECT_EQ(command_line({"a", "b c", "it's", "$x", ""}), "a 'b c' 'it'\\''s' '$x' ''");
}

TEST(Secrets, AreKnownByTheVariablesName) {
  for (const char* name : {"HF_TOKEN", "aws_secret_access_key", "PGPASSWORD", "WANDB_API_KEY"}) {
    EXPECT_TRUE(is_secret(name)) << name;
  }
  for (const char* name : {"PATH", "NCCL_ALGO", "PASS"}) EXPECT_FALSE(is_secret(name)) << name;
  EXPECT_EQ(without_secrets(Environment{{"HF_TOKEN", "hf_abc"}, {"NCCL_ALGO", "Ring"}}),
            (Environment{{"HF_TOKEN", "***"}, {"NCCL_ALGO", "Ring"}}));
}

TEST(Secrets, AreMaskedInWordsOfACommand) {
  EXPECT_EQ(without_secrets("HF_TOKEN=hf_abc python t.py"), "HF_TOKEN=*** python t.py");
  EXPECT_EQ(without_secrets("x:A=1,MY_KEY=s3,B=2"), "x:A=1,MY_KEY=***,B=2");
  EXPECT_EQ(without_secrets("a=1; export OPENAI_API_KEY=sk-1"), "a=1; export OPENAI_API_KEY=***");
  EXPECT_EQ(without_secrets("--max_tokens=128 tokens=3 KEY= end"),
            "--max_tokens=128 tokens=3 KEY= end");
  EXPECT_THAT(without_secrets(Words{"serve", "--api-key", "abc", "--max-tokens", "8",
                                    "--hf-token=def", "--key", "--x"}),
              ElementsAre("serve", "--api-key", "***", "--max-tokens", "8", "--hf-token=***",
                          "--key", "--x"));
}

}  // namespace
}  // namespace linkgain::test

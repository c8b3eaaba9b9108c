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
  EXPECT_EQ(filled_in("${variant} ${round} ${args}", place), "${variant} ${round} ${args}");
  EXPECT_EQ(filled_in("run {args}!", place), "run --x 'a b'!");
  EXPECT_THAT(filled_in(Words{"p", "{args}", "-r{round}", "sh {args}"}, place),
              ElementsAre("p", "--x", "a b", "-r3", "sh --x 'a b'"));
  EXPECT_TRUE(places_arguments({"a", "b {args}"}));
  EXPECT_FALSE(places_arguments({"a", "{arg}", "${args}"}));
  EXPECT_TRUE(places_arguments({"${args} {args}"}));
}

/// sh runs it, which need not be bash.
TEST(FilledIn, QuotesArgumentsForAnyShell) {
  const Placeholders place{.variant = "", .arguments = {"b\nc", "it's", "$x", ""}};
  EXPECT_EQ(filled_in("{args}", place), "'b\nc' 'it'\\''s' '$x' ''");
}

}  // namespace
}  // namespace linkgain::test

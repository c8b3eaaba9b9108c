#include "linkgain/base/text.hpp"

#include <gmock/gmock.h>

#include "linkgain/base/hostlist.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::array<std::string_view, 3> kNames{"all_reduce", "send_recv", "min"};

TEST(NearestName, FindsTheCandidateWithFewestEdits) {
  EXPECT_EQ(nearest_name("all_reduc", kNames), "all_reduce");
  EXPECT_EQ(nearest_name("sendrecv", kNames), "send_recv");
  EXPECT_EQ(nearest_name("mean", kNames), "min");
  EXPECT_EQ(nearest_name("send_recv", kNames), "send_recv");
}

TEST(NearestName, CountsASwapOfNeighboursAsOneEdit) {
  // As two substitutions "bacd" would be no nearer than "cabd", and the first would win.
  constexpr std::array<std::string_view, 2> swapped{"cabd", "bacd"};
  EXPECT_EQ(nearest_name("abcd", swapped), "bacd");
}

TEST(NearestName, TakesTheFirstOfEquallyNear) {
  constexpr std::array<std::string_view, 2> names{"int8", "int4"};
  EXPECT_EQ(nearest_name("int6", names), "int8");
}

TEST(NearestName, IsAbsentBeyondTwoEditsOrHalfTheName) {
  EXPECT_EQ(nearest_name("al_reduc", kNames), "all_reduce");
  EXPECT_EQ(nearest_name("al_rduc", kNames), "") << "three edits";
  constexpr std::array<std::string_view, 2> variants{"shared-memory", "tcp"};
  EXPECT_EQ(nearest_name("tpc", variants), "tcp");
  EXPECT_EQ(nearest_name("p2p", variants), "") << "two of three characters";
}

TEST(NearestName, KnowsOtherSpellings) {
  EXPECT_EQ(nearest_name("ALLREDUCE", kNames), "all_reduce");
  EXPECT_EQ(nearest_name("Send-Recv", kNames), "send_recv");
  constexpr std::array<std::string_view, 3> types{"float32", "float16", "bfloat16"};
  EXPECT_EQ(nearest_name("fp16", types), "float16");
  EXPECT_EQ(nearest_name("BF16", types), "bfloat16");
  EXPECT_EQ(nearest_name("f32", types), "float32");
}

TEST(NearestName, HandlesEmptyTextAndNoCandidates) {
  EXPECT_EQ(nearest_name("", kNames), "");
  EXPECT_EQ(nearest_name("x", {}), "");
}

TEST(UnknownName, NamesTheNearestAndAllOthers) {
  constexpr std::array<std::string_view, 2> names{"all_reduce", "send_recv"};
  Situations answers;
  answers.add("operation all_reduc of two", unknown_name("operation", "all_reduc", names));
  answers.add("operation everything of two", unknown_name("operation", "everything", names));
  answers.add("variant p2p of none", unknown_name("variant", "p2p", {}));
  answers.expect_golden("unknown_names.txt");
}

TEST(Split, KeepsEmptyPartsButGivesNoneForEmptyText) {
  EXPECT_THAT(split("a,b", ','), ElementsAre("a", "b"));
  EXPECT_THAT(split(",a,,", ','), ElementsAre("", "a", "", ""));
  EXPECT_THAT(split("a", ','), ElementsAre("a"));
  EXPECT_THAT(split("", ','), IsEmpty());
}

TEST(FirstNamed, CountsTheRest) {
  const std::vector<std::string> names{"a", "b", "c", "d"};
  EXPECT_EQ(first_named(names, 4), "a, b, c, d");
  EXPECT_EQ(first_named(names), "a, b, c and 1 more");
  EXPECT_EQ(first_named(names, 2, "; "), "a; b and 2 more");
  EXPECT_EQ(first_named({}), "");
}

TEST(VisibleText, ShowsWhatActsOnATerminal) {
  EXPECT_EQ(visible("plain, \u00b5s \u2013 \U0001F600"), "plain, \u00b5s \u2013 \U0001F600");
  EXPECT_EQ(visible("\x1b[31mred\x1b[0m\x07\x7f"), "\\x1b[31mred\\x1b[0m\\x07\\x7f");
  EXPECT_EQ(visible("a\nb\tc\rd"), "a\\x0ab\\x09c\\x0dd");
  EXPECT_EQ(visible("\u009b31m"), "\\x9b31m") << "C1 as a character of UTF-8";
  EXPECT_EQ(visible("\x9b"
                    "31m"),
            "\\x9b31m")
      << "C1 as a byte";
  EXPECT_EQ(visible("a\u202eb\u2066c\u200fd\u061ce"), "a\\u202eb\\u2066c\\u200fd\\u061ce");
  EXPECT_EQ(visible("a\u2028b\u2029c"), "a\\u2028b\\u2029c");
  EXPECT_EQ(visible(std::string_view("\0", 1)), "\\x00");
}

TEST(VisibleText, KeepsLinesWhereTheyAreMeant) {
  EXPECT_EQ(visible_lines("a\n\tb\r\x1b"), "a\n\tb\\x0d\\x1b");
}

TEST(VisibleText, IsTheSameWhenShownAgain) {
  for (int first = 0; first < 256; ++first) {
    for (const int second : {0x00, 0x20, 0x80, 0x9b, 0xff}) {
      const std::string text{static_cast<char>(first), static_cast<char>(second)};
      const std::string shown = visible(text);
      EXPECT_EQ(visible(shown), shown) << first << " " << second;
    }
  }
}

TEST(Glob, FitsWholeTexts) {
  EXPECT_TRUE(matches_glob("", ""));
  EXPECT_TRUE(matches_glob("all_reduce", "all_reduce"));
  EXPECT_FALSE(matches_glob("all_reduce", "all_reduce/float32"));
  EXPECT_FALSE(matches_glob("reduce", "all_reduce"));
  EXPECT_FALSE(matches_glob("", "a"));
}

TEST(Glob, TakesAnythingForAStarAndOneForAQuestionMark) {
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("*", "all_reduce/float32/sum/8B/np2"));
  EXPECT_TRUE(matches_glob("all_reduce/*/8B/*", "all_reduce/float32/sum/8B/np2/graph"));
  EXPECT_TRUE(matches_glob("*/np?", "all_reduce/float32/sum/8B/np2"));
  EXPECT_FALSE(matches_glob("*/np?", "all_reduce/float32/sum/8B/np16"));
  EXPECT_FALSE(matches_glob("a?c", "ac"));
}

TEST(Glob, GoesBackToTheLastStar) {
  EXPECT_TRUE(matches_glob("*ab*abc", "ababxabababc"));
  EXPECT_FALSE(matches_glob("*ab*abd", "ababxabababc"));
  EXPECT_TRUE(matches_glob("a**b", "a-b"));
}

TEST(Hostlist, ExpandsAsSlurmDoes) {
  EXPECT_THAT(expand_hostlist("a,b"), ElementsAre("a", "b"));
  EXPECT_THAT(expand_hostlist("a,node[01-03,7]-ib"),
              ElementsAre("a", "node01-ib", "node02-ib", "node03-ib", "node7-ib"));
  EXPECT_THAT(expand_hostlist("r[1-2]n[08-09]"), ElementsAre("r1n08", "r1n09", "r2n08", "r2n09"));
  EXPECT_THAT(expand_hostlist("node[098-101]"),
              ElementsAre("node098", "node099", "node100", "node101"));
  EXPECT_THAT(expand_hostlist(" a\nb , c\n"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(expand_hostlist(""), IsEmpty());
  EXPECT_THAT(expand_hostlist("n[1-100000]"), SizeIs(100000));
}

TEST(Hostlist, RefusesWhatIsNone) {
  for (const char* text : {"n[1-2", "n1-2]", "n[]", "n[2-1]", "n[a-b]", "n[1-]", "n[1,,2]",
                           "n[1-100001]", "n[1-1000][1-1000]", "n[99999999999]"}) {
    EXPECT_THROW(expand_hostlist(text), UsageError) << text;
  }
}

TEST(Hostlist, CompressesToRanges) {
  EXPECT_EQ(compress_hostlist({"node03", "node01", "node02", "node07", "login"}),
            "login,node[01-03,07]");
  EXPECT_EQ(compress_hostlist({"n9", "n10", "n11", "n9"}), "n9,n[10-11]");
  EXPECT_EQ(compress_hostlist({"r1n1-ib", "r1n2-ib", "r2n1-ib"}), "r1n[1-2]-ib,r2n1-ib");
  EXPECT_EQ(compress_hostlist({}), "");
  const std::string list = "a,node[01-03,07],r1n[1-2]-ib";
  EXPECT_EQ(compress_hostlist(expand_hostlist(list)), list);
}

TEST(HostName, IsOfOneHost) {
  for (const char* name :
       {"node004", "n", "7", "node-1_a.cluster.example", "allegro", "default1"}) {
    EXPECT_TRUE(is_host_name(name)) << name;
  }
}

/// Refuses what Slurm takes for several, for all, or for an option.
TEST(HostName, IsNoExpressionAndNoWordOfSlurm) {
  for (const char* name : {"ALL",     "all",       "All.cluster.example",
                           "DEFAULT", "localhost", "localhost.localdomain",
                           "NONE",    "node[1-9]", "a,b",
                           "a b",     "",          "-v",
                           ".",       "_a",        "a=b",
                           "a;b",     "$(id)",     "`id`",
                           "a'b",     "a\"b",      "a\nb",
                           "a*",      "n\u00f6de", "a/b"}) {
    EXPECT_FALSE(is_host_name(name)) << name;
  }
  EXPECT_FALSE(is_host_name(std::string(254, 'a')));
}

}  // namespace
}  // namespace linkgain::test

#include "linkgain/base/hostlist.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/base/errors.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

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

/// What Slurm takes for several, for all, or for an option.
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

#include "bench/programs/linkgain/topo.cpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parsing.hpp"

namespace linkgain {
namespace {

using test::refusal;

TEST(CommandLine, OfTopo) {
  EXPECT_FALSE(test::options_of<TopoOptions>({"topo"}).json);
  EXPECT_TRUE(test::options_of<TopoOptions>({"topo", "--json"}).json);
  EXPECT_EQ(refusal({"topo", "--jsno"}), "unknown option '--jsno': did you mean --json?");
  EXPECT_EQ(refusal({"topo", "-m"}).substr(0, 21), "unknown option '-m': ");
  EXPECT_EQ(refusal({"topo", "all"}), "linkgain topo takes no 'all'");
}

}  // namespace
}  // namespace linkgain

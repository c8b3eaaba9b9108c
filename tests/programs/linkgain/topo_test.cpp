#include "bench/programs/linkgain/topo.cpp"

#include <gtest/gtest.h>

#include "parsing.hpp"

namespace linkgain {
namespace {

TEST(CommandLine, OfTopo) {
  EXPECT_FALSE(test::options_of<TopoOptions>({"topo"}).json);
  EXPECT_TRUE(test::options_of<TopoOptions>({"topo", "--json"}).json);
}

}  // namespace
}  // namespace linkgain

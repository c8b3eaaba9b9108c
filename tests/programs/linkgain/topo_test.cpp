#include "bench/programs/linkgain/topo.cpp"

#include <gtest/gtest.h>

#include "parsing.hpp"

namespace linkgain::test {
namespace {

TEST(CommandLine, OfTopo) {
  EXPECT_FALSE(options_of<TopoOptions>({"topo"}).json);
  EXPECT_TRUE(options_of<TopoOptions>({"topo", "--json"}).json);
}

}  // namespace
}  // namespace linkgain::test

#include "bench/programs/linkgain/topo.cpp"

#include <gtest/gtest.h>

#include "parsing.hpp"

namespace linkgain::test {
namespace {

TEST(CommandLine, OfTopo) {
  EXPECT_EQ(options_of<TopoOptions>({"topo"}).format, OutputFormat::table);
  EXPECT_EQ(options_of<TopoOptions>({"topo", "--json"}).format, OutputFormat::json);
  EXPECT_EQ(options_of<TopoOptions>({"topo", "--format", "html"}).format, OutputFormat::html);
  EXPECT_THROW(options_of<TopoOptions>({"topo", "--format", "csv"}), UsageError);
}

}  // namespace
}  // namespace linkgain::test

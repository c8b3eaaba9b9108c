#include "bench/programs/linkgain/doctor.cpp"

#include <gtest/gtest.h>

#include "parsing.hpp"

namespace linkgain::test {
namespace {

TEST(CommandLine, OfDoctor) {
  const auto plain = options_of<DoctorOptions>({"doctor"});
  EXPECT_TRUE(plain.format == OutputFormat::table && !plain.load && plain.color);
  const auto full = options_of<DoctorOptions>({"doctor", "--load", "--json", "--no-color"});
  EXPECT_TRUE(full.format == OutputFormat::json && full.load && !full.color);
  const auto some = options_of<DoctorOptions>({"doctor", "--verbose", "--only", "p2p,xid"});
  EXPECT_TRUE(some.verbose && !plain.verbose);
  EXPECT_EQ(some.only, (std::vector<std::string>{"p2p", "xid"}));
  EXPECT_EQ(options_of<DoctorOptions>({"doctor", "--explain", "xid"}).explain, "xid");
}

}  // namespace
}  // namespace linkgain::test

#include "bench/programs/linkgain/doctor.cpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parsing.hpp"

namespace linkgain {
namespace {

using test::refusal;

TEST(CommandLine, OfDoctor) {
  const auto plain = test::options_of<DoctorOptions>({"doctor"});
  EXPECT_TRUE(!plain.json && !plain.load && plain.color);
  const auto full = test::options_of<DoctorOptions>({"doctor", "--load", "--json", "--no-color"});
  EXPECT_TRUE(full.json && full.load && !full.color);
  EXPECT_EQ(refusal({"doctor", "--laod"}), "unknown option '--laod': did you mean --load?");
  EXPECT_EQ(refusal({"doctor", "now"}), "linkgain doctor takes no 'now'");
}

}  // namespace
}  // namespace linkgain

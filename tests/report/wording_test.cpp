#include "wording.hpp"

#include <gtest/gtest.h>

namespace linkgain {
namespace {

RatioText text_of(double estimate, std::optional<double> low, std::optional<double> high) {
  return readable_ratio({.estimate = estimate, .low = low, .high = high});
}

TEST(ReadableRatio, HasAFittingNumberOfDecimals) {
  EXPECT_EQ(text_of(11.93, 11.81, 12.04).estimate, "11.9x");
  EXPECT_EQ(text_of(1.2987, 1.291, 1.307).estimate, "1.30x");
  EXPECT_EQ(text_of(0.93, {}, {}).estimate, "0.93x");
}

TEST(ReadableRatio, KeepsOneOutOfAnIntervalThatExcludesIt) {
  const RatioText above = text_of(1.004, 1.002, 1.006);
  EXPECT_EQ(above.estimate, "1.004x");
  EXPECT_EQ(above.low, "1.002x");
  const RatioText below = text_of(0.9996, 0.9993, 0.9998);
  EXPECT_EQ(below.high, "0.9998x");
  EXPECT_EQ(text_of(1.0, 0.998, 1.002).low, "1.00x");  // includes 1: no need to
}

TEST(ReadableRatio, HasNoIntervalWhereThereIsNone) {
  EXPECT_EQ(text_of(2.0, {}, {}).low, std::nullopt);
}

TEST(ReadablePercent, IsPreciseWhereItMatters) {
  EXPECT_EQ(readable_percent(0.229), "23 %");
  EXPECT_EQ(readable_percent(0.916), "92 %");
  EXPECT_EQ(readable_percent(0.0534), "5.3 %");
  EXPECT_EQ(readable_percent(0.004), "0.4 %");
  EXPECT_EQ(readable_percent(0.0004), "0.04 %");
  EXPECT_EQ(readable_percent(0.9962), "99.6 %");
  EXPECT_EQ(readable_percent(-0.075), "-7.5 %");
  EXPECT_EQ(readable_percent(0.0), "0 %");
}

TEST(NvlinkGeneration, FollowsNvmlsNumbers) {
  EXPECT_EQ(nvlink_generation(6), "4.0");
  EXPECT_EQ(nvlink_generation(3), "2.2");
  EXPECT_EQ(nvlink_generation(0), "");
  EXPECT_EQ(nvlink_generation(99), "");
  EXPECT_EQ(nvlink_generation(-1), "");
}

TEST(CurveLabel, NamesWhatIsNotTheDefault) {
  Case definition;
  EXPECT_EQ(curve_label(definition), "all_reduce");
  EXPECT_EQ(spoken_operation(definition), "all-reduce");
  definition.operation = OperationKind::send_recv;
  definition.type = DataType::float16;
  definition.pair = Pair{0, 1, false};
  EXPECT_EQ(curve_label(definition), "send_recv float16 0->1");
  definition.pair->both = true;
  EXPECT_EQ(curve_label(definition), "send_recv float16 0<->1");
}

TEST(ShellQuoted, IsOneWord) {
  EXPECT_EQ(shell_quoted("--sizes=8:1G:x4"), "--sizes=8:1G:x4");
  EXPECT_EQ(shell_quoted("my results"), "'my results'");
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted(""), "''");
  EXPECT_EQ(shell_quoted("$HOME"), "'$HOME'");
}

}  // namespace
}  // namespace linkgain

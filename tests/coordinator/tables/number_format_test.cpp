#include "linkgain/tables/number_format.hpp"

#include <gtest/gtest.h>

namespace linkgain::test {
namespace {

RatioText text_of(double estimate, std::optional<Interval> interval = {}) {
  return readable_ratio({.value = estimate, .interval = interval});
}

TEST(ReadableRatio, HasAFittingNumberOfDecimals) {
  EXPECT_EQ(text_of(11.93, Interval{11.81, 12.04}).estimate, "11.9x");
  EXPECT_EQ(text_of(1.2987, Interval{1.291, 1.307}).estimate, "1.30x");
  EXPECT_EQ(text_of(0.93).estimate, "0.93x");
  EXPECT_EQ(text_of(0.0124, Interval{0.0121, 0.0127}).interval(), "0.012–0.013x");
}

TEST(ReadableRatio, KeepsOneOutOfAnIntervalThatExcludesIt) {
  const RatioText above = text_of(1.004, Interval{1.002, 1.006});
  EXPECT_EQ(above.estimate, "1.004x");
  EXPECT_EQ(above.low, "1.002x");
  const RatioText below = text_of(0.9996, Interval{0.9993, 0.9998});
  EXPECT_EQ(below.high, "0.9998x");
  EXPECT_EQ(text_of(1.0, Interval{0.98, 1.02}).low, "0.98x");
}

/// Shows near 1x how wide an interval is, to four decimals: a share of a percent is an answer
/// there.
TEST(ReadableRatio, KeepsTheEndsOfANarrowIntervalApartNearOne) {
  EXPECT_EQ(text_of(1.0, Interval{0.998, 1.002}).interval(), "0.998–1.002x");
  EXPECT_EQ(text_of(1.0165, Interval{1.0161, 1.0169}).interval(), "1.016–1.017x");
  EXPECT_EQ(text_of(1.0, Interval{0.999999, 1.000001}).interval(), "1.0000–1.0000x");
  EXPECT_EQ(text_of(1.43, Interval{1.4301, 1.4304}).interval(), "1.43–1.43x");
}

/// Keeps a number beyond a border from looking like it.
TEST(ReadableRatio, ShowsOnWhichSideOfAToleranceEachNumberLies) {
  const auto text = [](double estimate, Interval interval) {
    const RatioText shown = readable_ratio({.value = estimate, .interval = interval}, 0.02);
    return shown.estimate + " " + shown.interval();
  };
  EXPECT_EQ(text(1.001, {0.985, 1.0204}), "1.0010x 0.9850–1.0204x");
  EXPECT_EQ(text(1.018, {1.011, 1.03}), "1.018x 1.011–1.030x");
  EXPECT_EQ(text(1.0, {0.99, 1.01}), "1.00x 0.99–1.01x");
  EXPECT_EQ(text(1.02, {1.01, 1.04}), "1.02x 1.01–1.04x") << "is the border";
  EXPECT_EQ(text(12.0, {11.0, 13.0}), "12.0x 11.0–13.0x");
  EXPECT_EQ(percent_beside(0.02, 0.0204), "2.04 %");
  EXPECT_EQ(percent_beside(0.02, 0.031), "3.1 %");
  EXPECT_EQ(percent_beside(0.02, 0.02), "2.0 %");
  EXPECT_EQ(percent_beside(0.1, 0.1004, Whole::no), "10.04 %");
}

TEST(ReadableRatio, HasNoDigitsOfBoundsThatSayNothing) {
  const RatioText text = text_of(0.58, Interval{5e-10, 6e8});
  EXPECT_EQ(text.interval(), "<0.01–>1000x");
  EXPECT_EQ(text.with_interval(), "0.58x, 95 % CI <0.01x to >1000x");
  EXPECT_EQ(text_of(30.0, Interval{0.0, 999.0}).interval(), "0.0–999.0x");
  EXPECT_EQ(text_of(2e-4, Interval{1e-4, 3e-4}).interval(), "<0.01–<0.01x");
  EXPECT_EQ(text_of(2e-4, Interval{1e-4, 3e-4}).estimate, "<0.01x");
  EXPECT_EQ(text_of(5000.0, Interval{999.0, 9000.0}).with_interval(),
            ">1000x, 95 % CI 999.0x to >1000x");
}

TEST(ReadableRatio, HasNoIntervalWhereThereIsNone) {
  EXPECT_EQ(text_of(2.0).low, std::nullopt);
  EXPECT_EQ(text_of(2.0).interval(), "");
  EXPECT_EQ(text_of(2.0).with_interval(), "2.00x");
}

TEST(ReadableRatio, HasTheUnitOnceInAnInterval) {
  const RatioText text = text_of(11.93, Interval{11.81, 12.04});
  EXPECT_EQ(text.interval(), "11.8–12.0x");
  EXPECT_EQ(text.with_interval(), "11.9x, 95 % CI 11.8x to 12.0x");
}

TEST(ReadablePercent, IsPreciseWhereItMatters) {
  EXPECT_EQ(readable_percent(0.229), "23 %");
  EXPECT_EQ(readable_percent(0.916), "92 %");
  EXPECT_EQ(readable_percent(0.0534), "5.3 %");
  EXPECT_EQ(readable_percent(0.004), "0.4 %");
  EXPECT_EQ(readable_percent(0.0004), "0.04 %");
  EXPECT_EQ(readable_percent(0.9962), "99.6 %");
  EXPECT_EQ(readable_percent(-0.075), "-7.5 %");
  // Twice the time is nothing that a share comes close to: no decimals as near "all of it".
  EXPECT_EQ(readable_percent(-1.0000001), "-100 %");
  EXPECT_EQ(readable_percent(-0.9996), "-100 %");
  EXPECT_EQ(readable_percent(-2.5), "-250 %");
  EXPECT_EQ(readable_percent(1.0000001, Whole::no), "100 %");
  EXPECT_EQ(readable_percent(0.0534, Whole::no), "5.3 %");
  EXPECT_EQ(readable_percent(0.0004, Whole::no), "0.04 %");
  EXPECT_EQ(readable_percent(0.0), "0 %");
  EXPECT_EQ(readable_percent(0.00004), "<0.01 %");
  EXPECT_EQ(readable_percent(-1e-9), ">-0.01 %");
  EXPECT_EQ(readable_percent(1e-9, Whole::no), "<0.01 %");
}

TEST(RoundedPercent, IsInWholePercent) {
  EXPECT_EQ(rounded_percent(0.7297, 0), "73 %");
  EXPECT_EQ(rounded_percent(2.7e-6, 0), "<1 %");
  EXPECT_EQ(rounded_percent(0.0, 0), "0 %");
  EXPECT_EQ(rounded_percent(1.04, 0), "104 %");
}

TEST(RoundedPercent, TellsNothingFromLittle) {
  EXPECT_EQ(rounded_percent(0.0, 1), "0 %");
  EXPECT_EQ(rounded_percent(1e-9, 1), "<0.1 %");
  EXPECT_EQ(rounded_percent(0.0012, 1), "0.1 %");
  EXPECT_EQ(rounded_percent(1.0037, 1), "100.4 %");
}

TEST(RoundedBytes, HasThreeDigits) {
  EXPECT_EQ(rounded_bytes(0), "0 B");
  EXPECT_EQ(rounded_bytes(1000), "1000 B");
  EXPECT_EQ(rounded_bytes(1023.9), "1.00 KiB");
  EXPECT_EQ(rounded_bytes(1.004 * 2 * (1 << 30)), "2.01 GiB");
  EXPECT_EQ(rounded_bytes(15.36 * (1 << 20)), "15.4 MiB");
  EXPECT_EQ(rounded_bytes(1023.4 * (1 << 20)), "1023 MiB");
}

}  // namespace
}  // namespace linkgain::test

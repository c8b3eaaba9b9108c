#include "linkgain/html/axis.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

namespace linkgain::test {
namespace {

using testing::ElementsAre;

std::vector<std::string> labels(const Axis& axis, double least, double most, int count = 6) {
  std::vector<std::string> names;
  for (const Tick& tick : Scale(axis, {least, most}, 400.0).ticks(count))
    names.push_back(tick.label);
  return names;
}

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

TEST(Axis, NamesSizesByPowersOfTwo) {
  const Axis axis{"size", Quantity::bytes, Spacing::logarithmic};
  EXPECT_THAT(labels(axis, 8.0, kGiB),
              ElementsAre("32 B", "1 KiB", "32 KiB", "1 MiB", "32 MiB", "1 GiB"));
  EXPECT_THAT(labels(axis, 1 << 20, 8 << 20), ElementsAre("1 MiB", "2 MiB", "4 MiB", "8 MiB"));
}

TEST(Axis, NamesDecadesAndTheirThirds) {
  const Axis axis{"GB/s", Quantity::bandwidth, Spacing::logarithmic};
  EXPECT_THAT(labels(axis, 0.002, 450.0), ElementsAre("0.01", "0.1", "1", "10", "100"));
  EXPECT_THAT(labels(axis, 20.0, 400.0), ElementsAre("20", "50", "100", "200"));
  const Axis time{"time", Quantity::seconds, Spacing::logarithmic};
  EXPECT_THAT(labels(time, 6e-6, 40e-3), ElementsAre("10 us", "100 us", "1 ms", "10 ms"));
  const Axis ratio{"speed-up", Quantity::ratio, Spacing::logarithmic};
  EXPECT_THAT(labels(ratio, 0.9, 12.6), ElementsAre("1x", "2x", "5x", "10x"));
}

TEST(Axis, NamesANarrowRangeByRoundSteps) {
  const Axis ratio{"speed-up", Quantity::ratio, Spacing::logarithmic};
  EXPECT_THAT(labels(ratio, 1.05, 1.15), ElementsAre("1.06x", "1.08x", "1.1x", "1.12x", "1.14x"));
  const Axis watts{"W", Quantity::number, Spacing::linear};
  EXPECT_THAT(labels(watts, 142.0, 678.0), ElementsAre("200", "300", "400", "500", "600"));
  EXPECT_THAT(labels(watts, -0.4, 0.6), ElementsAre("-0.4", "-0.2", "0", "0.2", "0.4", "0.6"));
}

TEST(Axis, TellsNeighboursApart) {
  for (const double width : {0.1, 0.004, 0.0004, 0.00004}) {
    for (const Quantity quantity : {Quantity::ratio, Quantity::number, Quantity::seconds}) {
      const auto names = labels({"", quantity, Spacing::linear}, 1.0 - width, 1.0 + width);
      EXPECT_GE(names.size(), 3U);
      EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size()) << width;
    }
  }
  EXPECT_EQ(axis_text(Quantity::ratio, 1.0036), "1.004x");
  EXPECT_EQ(axis_text(Quantity::ratio, 0.9991), "0.999x");
  EXPECT_EQ(axis_text(Quantity::ratio, 12.63), "12.6x");
}

TEST(Axis, HasNoExponentInItsLabels) {
  const Axis rate{"tokens_per_second", Quantity::number, Spacing::linear};
  EXPECT_THAT(labels(rate, 22574.0, 31017.0), ElementsAre("24k", "26k", "28k", "30k"));
  EXPECT_THAT(labels(rate, 9000.0, 11000.0), ElementsAre("9000", "9500", "10k", "10.5k", "11k"));
  EXPECT_THAT(labels(rate, 1.1e6, 2.9e6), ElementsAre("1.5M", "2M", "2.5M"));
  EXPECT_EQ(axis_text(Quantity::number, 22573.946), "22574");
  EXPECT_EQ(axis_text(Quantity::number, 1234567.8), "1234568");
}

TEST(Axis, EndsWhateverItsValuesAre) {
  const Axis rate{"GB/s", Quantity::bandwidth, Spacing::logarithmic};
  EXPECT_LE(labels(rate, 0.0, 400.0).size(), 6U);
  EXPECT_LE(labels(rate, 0.0, 0.0).size(), 6U);
  const Axis number{"x", Quantity::number, Spacing::linear};
  EXPECT_LE(labels(number, 1e20, 1e20 + 16384.0).size(), 7U) << "steps below the last digit";
}

TEST(Axis, PlacesValuesWithRoomAtBothEnds) {
  const Scale scale({"", Quantity::number, Spacing::logarithmic}, {1.0, 100.0}, 200.0);
  EXPECT_GT(scale.place(1.0), 0.0);
  EXPECT_LT(scale.place(100.0), 200.0);
  EXPECT_NEAR(scale.place(10.0), 100.0, 1e-9);
}

TEST(Axis, HasAPlaceForASingleValue) {
  for (const Spacing spacing : {Spacing::linear, Spacing::logarithmic}) {
    for (const double value : {7.0, 0.3, 4e-7}) {
      const Scale scale({"", Quantity::number, spacing}, {value}, 100.0);
      EXPECT_NEAR(scale.place(value), 50.0, 1e-9);
      EXPECT_FALSE(scale.ticks(5).empty());
      EXPECT_GT(scale.ticks(5).front().value, 0.0);
    }
  }
  EXPECT_THAT(labels({"bytes", Quantity::number, Spacing::linear}, 0.0, 0.0, 5),
              ElementsAre("0", "0.5", "1"))
      << "nothing is less than 0";
}

}  // namespace
}  // namespace linkgain::test

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/analysis/launch_statistics.hpp"
#include "linkgain/cases/case.hpp"
#include "linkgain/record/journal.hpp"
#include "linkgain/summary/curve_steps.hpp"
#include "step_curves.hpp"

namespace linkgain::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Has two curves of two variants; the first curve's first variant steps from 512 KiB to 1 MiB.
Record stepping_record() {
  Record record;
  const std::vector<double> times{10, 10, 30, 31};
  for (std::size_t i = 0; i < 2 * times.size(); ++i) {
    CaseResult result;
    result.definition.in_place = i >= times.size();
    result.definition.size = Bytes{std::int64_t{1} << (18 + i % times.size())};
    result.variants.resize(2);
    result.variants[0].variant = "p2p";
    result.variants[0].time =
        Seconds{(result.definition.in_place ? 10 : times[i % times.size()]) * kMicrosecond};
    result.variants[1].variant = "host";
    result.variants[1].time = Seconds{40 * kMicrosecond};
    record.cases.push_back(result);
  }
  return record;
}

constexpr std::string_view kCurve = "all_reduce/float32/sum/np2";

TEST(CurvePoints, AreThoseOfOneCurveAndVariant) {
  Record record = stepping_record();
  record.cases[1].variants[0].evidence.emplace().plan = {"TREE", "LL128"};
  const std::vector<CurvePoint> points = curve_points(record, kCurve, "p2p");
  ASSERT_EQ(points.size(), 4U);
  EXPECT_EQ(points[1].plan, (TransferPlan{"TREE", "LL128"}));
  EXPECT_EQ(points[2].plan, TransferPlan{});
  EXPECT_THAT(steps_to(points), ElementsAre("1MiB"));
  EXPECT_THAT(steps_to(curve_points(record, kCurve, "host")), IsEmpty());
  EXPECT_THAT(curve_points(record, "all_reduce/float32/sum/np4", "p2p"), IsEmpty());
  EXPECT_THAT(curve_points(record, kCurve, "net"), IsEmpty());
}

TEST(CurvePoints, HaveTheQuartilesOfTheirSamples) {
  Record record = stepping_record();
  for (const double time : {28.0, 30.0, 30.0, 34.0, 30.0}) {
    record.cases[2].samples.push_back(
        {.variant = 0, .times = {Seconds{1e-9}, Seconds{time}}, .health = {}});
    record.cases[2].samples.push_back({.variant = 1, .times = {Seconds{1.0}}, .health = {}});
  }
  record.cases[2].samples.push_back({.variant = 0, .times = {Seconds{32.0}, {}}, .health = {}});
  const std::vector<CurvePoint> points = curve_points(record, kCurve, "p2p");
  EXPECT_EQ(points[2].middle_half, (Interval{30.0, 31.5}));
  EXPECT_EQ(points[1].middle_half, (Interval{points[1].time.value, points[1].time.value}));
}

TEST(CurvePoints, LeaveOutWhatWasSkippedOrIsWrong) {
  Record record = stepping_record();
  record.cases[0].variants[0].time.reset();
  record.cases[0].variants[0].skipped = Skip{.refusal = "out of memory"};
  EXPECT_EQ(curve_points(record, kCurve, "p2p").size(), 3U);
  record.cases[1].variants[0].verification =
      Verification{.checked = 8, .wrong = 1, .first_wrong = {}};
  EXPECT_EQ(curve_points(record, kCurve, "p2p").size(), 2U);
  EXPECT_EQ(curve_points(record, kCurve, "host").size(), 4U);
}

/// Finds every step of a record of results/, and its variant.
std::vector<std::pair<std::string, std::string>> steps_in(const std::string& folder) {
  Record record = read_record(std::string(RESULTS_FOLDER) + "/" + folder);
  summarise(record);
  std::vector<std::pair<std::string, std::string>> steps;
  std::vector<std::string> curves;
  for (const CaseResult& result : record.cases) curves.push_back(curve_name(result.definition));
  curves.erase(std::unique(curves.begin(), curves.end()), curves.end());
  for (const std::string& curve : curves) {
    for (const Variant& variant : record.settings.variants) {
      for (const std::string& to : steps_to(curve_points(record, curve, variant.name))) {
        steps.emplace_back(variant.name, to);
      }
    }
  }
  return steps;
}

/// Takes steps for larger than what a ratio lacks to a percent.
TEST(CurvePoints, LeaveOutWhatIsNotKnownToTwoPercent) {
  const auto points_with = [](double half, bool converged) {
    Record record = stepping_record();
    CaseResult& result = record.cases[2];
    result.converged = converged;
    result.ratios = {{"host", {}}};
    result.ratios[0].ratio.value = 2.0;
    result.ratios[0].ratio.interval = {2.0 * (1.0 - half), 2.0 * (1.0 + half)};
    return curve_points(record, kCurve, "p2p").size();
  };
  EXPECT_EQ(points_with(0.019, false), 4U);
  EXPECT_EQ(points_with(0.021, false), 3U);
  EXPECT_EQ(points_with(0.021, true), 4U) << "a wider one was asked for";
}

TEST(CurveSteps, OfTheRecordsThatAreKept) {
  EXPECT_THAT(steps_in("2xH200-headroom"), Contains(::testing::Pair("p2p", "2MiB")));
  // A size sweep by fours skips over 2 MiB.
  EXPECT_THAT(steps_in("2xH200-default"), IsEmpty());
  // Records of one launch have no interval: their times may be off by as much as a step is.
  for (const char* one : {"2xH200-all_reduce-1", "2xH200-all_reduce-2", "4xH200-default"}) {
    EXPECT_THAT(steps_in(one), IsEmpty()) << one;
  }
}

}  // namespace
}  // namespace linkgain::test

#include "linkgain/predict/measured_link.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "planted_curves.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;

TimeCurve curve_of(const std::vector<double>& sizes, const Model& model) {
  std::vector<TimeCurve::Point> points;
  for (const double size : sizes) {
    points.push_back({size, {.time = Seconds{model(size)}, .launches = kLaunches}});
  }
  return TimeCurve(std::move(points));
}

const std::vector<double> kDoubling{1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15};

TEST(TimeCurve, IsExactAtMeasuredSizes) {
  const TimeCurve curve = curve_of(kDoubling, on_host);
  for (const double size : kDoubling) {
    EXPECT_DOUBLE_EQ(curve.at(size).time.value, on_host(size));
    EXPECT_EQ(curve.at(size).resolution, 0.0);
  }
}

TEST(TimeCurve, InterpolatesLogarithmsBetweenThem) {
  const TimeCurve curve = curve_of(kDoubling, [](double size) { return 1e-9 * std::sqrt(size); });
  EXPECT_NEAR(curve.at(3000.0).time.value, 1e-9 * std::sqrt(3000.0), 1e-18);
}

TEST(TimeCurve, LeavesOpenWhatAStraightLineWouldGive) {
  const TimeCurve curve = curve_of({1e5, 4e5}, on_host);
  const LaunchMean mean = curve.at(2e5);
  const double off = std::log(mean.time.value / on_host(2e5));
  EXPECT_GT(off, 0.02);
  EXPECT_NEAR(mean.resolution, 2.0 * off, 1e-9);
}

TEST(TimeCurve, KeepsAStepAsABreak) {
  // The protocol changes between 4 and 8 KiB: which side 6 KiB is on is not known.
  const TimeCurve curve =
      curve_of(kDoubling, [](double size) { return size <= 4096 ? 1e-6 : 3e-6; });
  EXPECT_DOUBLE_EQ(curve.at(3000.0).time.value, 1e-6);
  EXPECT_DOUBLE_EQ(curve.at(10000.0).time.value, 3e-6);
  const LaunchMean within = curve.at(6000.0);
  EXPECT_NEAR(within.time.value, std::sqrt(3.0) * 1e-6, 1e-12);
  EXPECT_NEAR(within.resolution, std::log(3.0), 1e-9);
}

TEST(TimeCurve, GrowsBeyondTheLargestAndRefusesBelowTheSmallest) {
  const TimeCurve curve = curve_of(kDoubling, on_host);
  EXPECT_DOUBLE_EQ(curve.at(1 << 17).time.value, 4.0 * on_host(1 << 15));
  EXPECT_THROW(curve.at(1000.0), std::out_of_range);
}

TEST(MeasuredLink, TakesVariantsTypeAndPathOfTheRecord) {
  const MeasuredLink link = measured_link(planted_record(), std::nullopt);
  EXPECT_EQ(link.ranks, 2);
  EXPECT_EQ(link.back_to_back_type, DataType::float32);
  EXPECT_EQ(link.link.name, "NVLink");
  EXPECT_EQ(link.other.name, "host");
  const ChosenCurves curves = link.choose(Reducer::nccl);
  EXPECT_FALSE(curves.in_context);
  EXPECT_NEAR(link.all_reduce(link.link, curves, 8192).time.value, on_link(8192), 1e-12);
  EXPECT_NEAR(link.all_reduce(link.other, curves, 8192).time.value, on_host(8192), 1e-12);
}

TEST(MeasuredLink, PrefersGraphsAndTheTypeOfMostSizes) {
  Scatter scatter(0.0);
  const auto scaled = [](const Model& model, double factor) {
    return [=](double bytes) { return factor * model(bytes); };
  };
  Case graph = sized(8);
  graph.launch = LaunchMode::graph;
  Case half = sized(8);
  half.type = DataType::bfloat16;
  auto all =
      measured_curves(sized(8), usual_sizes(), scaled(on_link, 2), scaled(on_host, 2), scatter);
  for (const auto& more :
       {measured_curves(graph, usual_sizes(), on_link, on_host, scatter),
        measured_curves(half, {4096}, scaled(on_link, 9), scaled(on_host, 9), scatter)}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  const MeasuredLink link = measured_link(finished(run_of(all)), std::nullopt);
  EXPECT_EQ(link.back_to_back_type, DataType::float32);
  const ChosenCurves curves = link.choose(Reducer::nccl);
  EXPECT_NEAR(link.all_reduce(link.link, curves, 8192).time.value, on_link(8192), 1e-12);
}

/// Reads a record as a default run makes it.
TEST(MeasuredLink, ReadsTheFewInContextBesideTheManyBackToBack) {
  Scatter scatter(0.0);
  Case in_context = sized(8);
  in_context.type = DataType::bfloat16;
  in_context.launch = LaunchMode::graph;
  in_context.hidden = 4096;
  auto all = measured_curves(sized(8), usual_sizes(), on_link, on_host, scatter);
  const auto more = measured_curves(
      in_context, {8192, 1 << 16, 1 << 19}, [](double bytes) { return 3 * on_link(bytes); },
      on_host, scatter);
  all.insert(all.end(), more.begin(), more.end());
  const MeasuredLink link = measured_link(finished(run_of(all)), std::nullopt);
  const ChosenCurves decoder = link.choose(Reducer::nccl, true, 8192.0);
  EXPECT_TRUE(decoder.in_context);
  EXPECT_EQ(link.type_of(decoder), DataType::bfloat16);
  EXPECT_NEAR(link.all_reduce(link.link, decoder, 1 << 16).time.value, 3 * on_link(1 << 16), 1e-12);
  const ChosenCurves smaller = link.choose(Reducer::nccl, true, 4096.0);
  EXPECT_FALSE(smaller.in_context) << "they begin at 8 KiB";
  EXPECT_NEAR(link.all_reduce(link.link, smaller, 4096).time.value, on_link(4096), 1e-12);
  const ChosenCurves training = link.choose(Reducer::nccl, false);
  EXPECT_EQ(link.type_of(training), DataType::float32);
}

TEST(MeasuredLink, TakesTheKernelOnTheLinkAlone) {
  Scatter scatter(0.0);
  Case kernel = sized(8);
  kernel.kernel = true;
  auto all = measured_curves(sized(8), usual_sizes(), on_link, on_host, scatter);
  const auto more = measured_curves(
      kernel, usual_sizes(), [](double bytes) { return on_link(bytes) / 2; }, on_host, scatter);
  all.insert(all.end(), more.begin(), more.end());
  const MeasuredLink link = measured_link(finished(run_of(all)), std::nullopt);
  const ChosenCurves curves = link.choose(Reducer::kernel);
  EXPECT_NEAR(link.all_reduce(link.link, curves, 8192).time.value, on_link(8192) / 2, 1e-12);
  EXPECT_NEAR(link.all_reduce(link.other, curves, 8192).time.value, on_host(8192), 1e-12);
  EXPECT_THAT(thrown_by([&] { link.choose(Reducer::symmetric); }), HasSubstr("nccl and kernel"));
}

TEST(MeasuredLink, LeavesOutSizesWithoutATimeAboveZero) {
  Scatter scatter(0.0);
  const auto all = measured_curves(
      sized(8), usual_sizes(), [](double bytes) { return bytes == 8192 ? 0.0 : on_link(bytes); },
      on_host, scatter);
  const MeasuredLink link = measured_link(run_of(all), std::nullopt);
  EXPECT_NEAR(link.all_reduce(link.link, link.choose(Reducer::nccl), 8192).time.value,
              on_link(8192), 0.1e-6);
}

TEST(MeasuredLink, RefusesRecordsAndSizesThatItCannotTellOf) {
  const Record none = run_of({{sized(1 << 20, OperationKind::send_recv), "p2p", kEight}});
  EXPECT_THAT(thrown_by([&] { measured_link(none, std::nullopt); }), HasSubstr("no all-reduce"));
  EXPECT_THAT(thrown_by([&] { measured_link(planted_record(), 4); }), HasSubstr("over 2 ranks"));
  const Record one_size = run_of({{sized(8), "p2p", kEight}, {sized(8), "host", kEight}});
  EXPECT_THROW(measured_link(finished(one_size), std::nullopt), UsageError);
  Record of_program;
  of_program.settings.program = ProgramPlan{};
  EXPECT_THAT(thrown_by([&] { measured_link(of_program, std::nullopt); }),
              HasSubstr("linkgain exec"));
  const MeasuredLink link = measured_link(planted_record(), std::nullopt);
  EXPECT_THAT(thrown_by([&] { link.all_reduce(link.link, link.choose(Reducer::nccl), 1000); }),
              HasSubstr("smallest, 4 KiB"));
}

TEST(MeasuredLink, HasThePublishedLimitStandInForALinkThatIsNotThere) {
  const MeasuredLink link = measured_link(without_bridge(), std::nullopt);
  EXPECT_TRUE(link.is_at_most());
  EXPECT_EQ(link.other.variant, "host");
  const ChosenCurves curves = link.choose(Reducer::nccl);
  EXPECT_NEAR(link.all_reduce(link.link, curves, 1 << 20).time.value, (1 << 20) / 56.25e9, 1e-12);
  EXPECT_NEAR(link.all_reduce(link.other, curves, 8192).time.value, on_host(8192), 1e-12);
}

TEST(MeasuredLink, TakesTheNamedVariantAsTodaysPathWhereNoLinkWasMeasured) {
  for (const char* variant : {"p2p", "host"}) {
    const MeasuredLink link = measured_link(without_bridge(), std::nullopt, variant);
    EXPECT_TRUE(link.is_at_most());
    EXPECT_EQ(link.other.variant, variant);
  }
  EXPECT_THAT(thrown_by([] { measured_link(without_bridge(), std::nullopt, "link"); }),
              HasSubstr("p2p and host"));
}

TEST(MeasuredLink, ComparesABridgeWithPcieP2p) {
  const Record record = without_bridge(Path::pcie_p2p);
  const MeasuredLink link = measured_link(record, std::nullopt);
  EXPECT_TRUE(link.is_at_most());
  EXPECT_EQ(link.link.limit, 56.25);
  EXPECT_EQ(link.other.variant, "p2p");
  EXPECT_EQ(measured_link(record, std::nullopt, "host").other.variant, "host");
}

TEST(MeasuredLink, ComparesPcieP2pWithHostWhereNoBridgeFits) {
  Record record = without_bridge(Path::pcie_p2p);
  for (RankInfo& rank : record.machine.ranks) {
    rank.gpu->name = "NVIDIA GeForce RTX 4090";
    rank.gpu->nvlink_links = 0;
  }
  const MeasuredLink link = measured_link(record, std::nullopt);
  EXPECT_FALSE(link.is_at_most());
  EXPECT_EQ(link.link.name, "PCIe P2P");
  EXPECT_EQ(link.other.variant, "host");
}

/// Has NVLink in two variants, as of two versions of NCCL, and none in those of `without`.
Record two_with_the_link(const std::vector<std::string>& without) {
  Scatter scatter(0.0);
  std::vector<Measured> all;
  for (const std::int64_t size : usual_sizes()) {
    for (const char* variant : {"p2p", "newer"}) {
      all.push_back({sized(size), variant, scatter.launches(1e-3), Path::nvlink});
    }
    for (const std::string& variant : without) {
      all.push_back({sized(size), variant, scatter.launches(2e-3), Path::host_memory});
    }
  }
  Record record = run_of(all);
  record.settings.variants = {{"p2p", {}}, {"newer", {}}};
  for (const std::string& variant : without) record.settings.variants.push_back({variant, {}});
  return finished(record);
}

TEST(MeasuredLink, ComparesWithTheVariantThatLacksTheLink) {
  EXPECT_EQ(measured_link(two_with_the_link({"without"}), std::nullopt).other.variant, "without");
  EXPECT_THAT(thrown_by([] { measured_link(two_with_the_link({}), std::nullopt); }),
              HasSubstr("without NVLink"));
}

TEST(Propagated, TakesTheSquaresOfSlopes) {
  const LaunchDeviation deviation{.deviation = 0.02, .degrees_of_freedom = 1000000};
  const std::vector<LaunchMean> times{{Seconds{2.0}, 4, deviation}, {Seconds{3.0}, 4, deviation}};
  const Estimate estimate =
      propagated(times, [](std::span<const double> each) { return each[0] * each[0] / each[1]; });
  EXPECT_NEAR(estimate.value, 4.0 / 3.0, 1e-12);
  const double half = 1.96 * 0.01 * std::sqrt(4.0 + 1.0);
  EXPECT_NEAR(std::log(estimate.interval->high / estimate.value), half, 1e-4);
  EXPECT_EQ(estimate.replicates, 4);
}

TEST(Propagated, HasNoIntervalOfOneLaunchThatMatters) {
  const LaunchMean known{Seconds{2.0}, 4, LaunchDeviation{.deviation = 0.02}};
  const LaunchMean once{Seconds{3.0}, 1, std::nullopt};
  const auto of_both = [](std::span<const double> each) { return each[0] / each[1]; };
  const auto of_first = [](std::span<const double> each) { return each[0]; };
  EXPECT_FALSE(propagated(std::vector{known, once}, of_both).interval);
  EXPECT_TRUE(propagated(std::vector{known, once}, of_first).interval);
}

}  // namespace
}  // namespace linkgain::test

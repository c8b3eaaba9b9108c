#include "linkgain/summary/headroom_steps.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "support/golden.hpp"
#include "support/launch_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using enum HeadroomStation;

constexpr std::int64_t kMebibyte = 1 << 20;
constexpr int kLaunches = 6;

/// What takes how long, without noise: a sum of 2 MiB by NCCL 28 us, and so on.
struct Truth {
  double nccl = 28e-6;
  double setting = 23e-6;
  double symmetric = 20e-6;
  double symmetric_setting = 21e-6;
  double kernel = 10e-6;
  double latency = 1.5e-6;
  double gb_per_s = 350.0;

  double floor() const { return latency + (2 * kMebibyte - 16) / (1e9 * gb_per_s); }
};

Case sum_of(std::int64_t bytes, bool kernel = false) {
  Case c = sized(bytes);
  c.launch = LaunchMode::graph;
  c.kernel = kernel;
  return c;
}

Case symmetric_sum(std::int64_t bytes) {
  Case c = sum_of(bytes);
  c.buffers = Buffers::symmetric;
  return c;
}

Case stores(std::int64_t bytes, std::optional<Pair> pair = Pair{0, 1, true}) {
  Case c = sized(bytes, OperationKind::copy_push);
  c.kernel = true;
  c.pair = pair;
  return c;
}

/// Draws launches whose logs have this standard deviation.
class Launches {
 public:
  explicit Launches(double deviation = 0.01, unsigned seed = 1)
      : normal_(0.0, deviation), generator_(seed) {}
  std::vector<double> of(double time, int count = kLaunches) {
    std::vector<double> times;
    for (int i = 0; i < count; ++i) times.push_back(time * std::exp(normal_(generator_)));
    return times;
  }

 private:
  std::normal_distribution<double> normal_;
  std::mt19937_64 generator_;
};

/// Has everything: two sizes, p2p and LL128, and stores of two sizes, one of them slower.
Record whole_run(Launches launches, const Truth& truth = {}) {
  const std::int64_t size = 2 * kMebibyte;
  const auto copy = [&](std::int64_t bytes, double share) {
    return Measured{stores(bytes), "p2p",
                    launches.of(static_cast<double>(bytes) / (share * 1e9 * truth.gb_per_s))};
  };
  Record record = run_of({{sum_of(16), "p2p", launches.of(5.5e-6)},
                          {sum_of(16), "ll128", launches.of(11e-6)},
                          {sum_of(size), "p2p", launches.of(truth.nccl)},
                          {sum_of(size), "ll128", launches.of(truth.setting)},
                          {symmetric_sum(size), "p2p", launches.of(truth.symmetric)},
                          {sum_of(16, true), "p2p", launches.of(truth.latency)},
                          {sum_of(size, true), "p2p", launches.of(truth.kernel)},
                          copy(kMebibyte, 0.7),
                          copy(256 * kMebibyte, 1.0),
                          {symmetric_sum(size), "ll128", launches.of(truth.symmetric_setting)}});
  record.settings.variants = {{"p2p", {}}, {"ll128", {{"NCCL_PROTO", "LL128"}}}};
  return record;
}

CaseResult& result_of(Record& record, const Case& c) {
  return *std::ranges::find(record.cases, c, &CaseResult::definition);
}

void take_out(Record& record, const Case& c) {
  std::erase_if(record.cases, [&](const CaseResult& each) { return each.definition == c; });
}

std::vector<HeadroomCurve> curves_of(const Record& record) {
  return headroom_curves(RunSummary(record));
}

/// Gives the row of 2 MiB.
HeadroomRow large_row(const Record& record) { return curves_of(record).at(0).rows.at(1); }

std::vector<HeadroomStation> stations_of(const HeadroomRow& row) {
  std::vector<HeadroomStation> stations;
  for (const HeadroomStep& step : row.steps) stations.push_back(step.station);
  return stations;
}

TEST(HeadroomSteps, OfAWholeRunMultiplyToTheWhole) {
  Record record = whole_run(Launches{});
  result_of(record, sum_of(2 * kMebibyte)).variants[0].evidence.emplace().plan.blocks = 24;
  const std::vector<HeadroomCurve> curves = curves_of(record);
  ASSERT_THAT(curves, SizeIs(1));
  EXPECT_EQ(curves[0].latency, sum_of(16, true));
  EXPECT_EQ(curves[0].stores, stores(256 * kMebibyte));
  EXPECT_NEAR(curves[0].stores_gb_per_s, 350.0, 5.0);
  const HeadroomRow row = large_row(record);
  EXPECT_EQ(row.name, "all_reduce/float32/sum/2MiB/np2/graph");
  EXPECT_THAT(stations_of(row), ElementsAre(nccl, setting, symmetric, kernel, floor));
  EXPECT_EQ(row.steps[0].blocks, 24);
  EXPECT_FALSE(row.steps[0].factor || row.steps[3].blocks);
  EXPECT_EQ(row.steps[1].variant, "ll128");
  EXPECT_NEAR(row.steps[4].time.value / Truth{}.floor(), 1.0, 0.01);
  double product = 1.0;
  for (std::size_t i = 1; i < row.steps.size(); ++i) {
    product *= row.steps[i].factor->value;
    EXPECT_NEAR(product, row.steps[i].whole->value, 1e-12 * product);
  }
  EXPECT_EQ(row.steps.back().whole->replicates, kLaunches);
}

TEST(HeadroomSteps, OfTheSmallestSumEndAtItself) {
  const HeadroomRow row = curves_of(whole_run(Launches{}))[0].rows.at(0);
  EXPECT_THAT(stations_of(row), ElementsAre(nccl, kernel, floor)) << "LL128 takes longer";
  EXPECT_EQ(row.steps[2].factor, (Estimate{1.0, {}, kLaunches}));
  EXPECT_EQ(row.steps[2].whole, row.steps[1].factor);
}

TEST(HeadroomSteps, SpanWhatIsNotThere) {
  Record record = whole_run(Launches{});
  for (VariantResult& each : result_of(record, symmetric_sum(2 * kMebibyte)).variants) {
    each.verification = Verification{.checked = 8, .wrong = 1, .first_wrong = {}};
  }
  const HeadroomRow row = large_row(record);
  EXPECT_THAT(stations_of(row), ElementsAre(nccl, setting, kernel, floor));
  EXPECT_NEAR(row.steps[2].factor->value, 2.3, 0.05) << "from the setting to the kernel";
  take_out(record, sum_of(2 * kMebibyte, true));
  EXPECT_THAT(stations_of(large_row(record)), ElementsAre(nccl, setting, floor));
  take_out(record, sum_of(16, true));
  EXPECT_THAT(curves_of(record), IsEmpty()) << "the variants' table has that";
}

TEST(HeadroomSteps, NeedStoresBothWaysForAFloor) {
  Record record = whole_run(Launches{});
  take_out(record, stores(kMebibyte));
  CaseResult& copy = result_of(record, stores(256 * kMebibyte));
  EXPECT_THAT(stations_of(large_row(record)), SizeIs(5));
  copy.definition.pair.reset();
  EXPECT_THAT(stations_of(large_row(record)), SizeIs(5)) << "a ring goes both ways, too";
  copy.definition.pair = Pair{0, 1, false};
  EXPECT_THAT(stations_of(large_row(record)), ElementsAre(nccl, setting, symmetric, kernel));
  copy.definition = stores(256 * kMebibyte);
  copy.definition.kernel = false;
  EXPECT_FALSE(curves_of(record)[0].stores) << "sums do not use the copy engine";
}

TEST(HeadroomSteps, CountTheBytesThatEachOfFourRanksMustSend) {
  Record record = whole_run(Launches{1e-9});
  for (CaseResult& result : record.cases) result.definition.ranks = 4;
  const double bytes = 2 * kMebibyte - 16;
  EXPECT_NEAR(large_row(record).steps.back().time.value, 1.5e-6 + 1.5 * bytes / 350e9, 1e-12);
}

TEST(HeadroomSteps, OfStreamsEndAtTheLatencyOfGraphs) {
  Record record = whole_run(Launches{});
  for (CaseResult& result : record.cases) {
    if (result.definition.size >= kLaunchBoundBelow) result.definition.launch = LaunchMode::stream;
  }
  EXPECT_THAT(curves_of(record), SizeIs(1)) << "as the tables by size";
  EXPECT_NEAR(large_row(record).steps.back().time.value / Truth{}.floor(), 1.0, 0.01);
}

TEST(HeadroomSteps, HaveASettingThatKeepsThePathAndIsShownToBeFaster) {
  const auto has_setting = [](const Record& record) {
    return stations_of(large_row(record))[1] == setting;
  };
  Record record = whole_run(Launches{});
  ASSERT_TRUE(has_setting(record));
  Variant& variant = record.settings.variants[1];
  variant.worker = "/older/linkgain-bench";
  EXPECT_FALSE(has_setting(record)) << "is no setting";
  variant.worker.clear();
  variant.environment["CUDA_DEVICE_MAX_CONNECTIONS"] = "1";
  EXPECT_FALSE(has_setting(record)) << "is not NCCL's alone";
  record.settings.variants[0].environment = {{"CUDA_DEVICE_MAX_CONNECTIONS", "1"}};
  EXPECT_TRUE(has_setting(record)) << "both have it";
  result_of(record, sum_of(2 * kMebibyte)).variants[1].path = Path::host_memory;
  EXPECT_FALSE(has_setting(record)) << "takes another path";
  Truth as_fast;
  as_fast.setting = 0.995 * as_fast.nccl;
  EXPECT_FALSE(has_setting(whole_run(Launches{}, as_fast)));
}

/// Leaves a kernel no credit for what NCCL itself could gain.
TEST(HeadroomSteps, HaveSymmetricMemoryWithItsFastestSettingOrNotAtAll) {
  Truth faster;
  faster.symmetric_setting = 15e-6;
  const HeadroomRow row = large_row(whole_run(Launches{}, faster));
  EXPECT_EQ(row.steps[2].station, symmetric);
  EXPECT_EQ(row.steps[2].variant, "ll128");
  EXPECT_NEAR(row.steps[2].factor->value, 23.0 / 15.0, 0.05);
  EXPECT_EQ(row.steps[3].variant, "") << "the kernel is the first variant's";
  Truth slower;
  slower.symmetric = slower.symmetric_setting = 26e-6;
  EXPECT_THAT(stations_of(large_row(whole_run(Launches{}, slower))),
              ElementsAre(nccl, setting, kernel, floor));
}

/// Gives the kernel alone two more launches, in which it takes twice the time.
TEST(HeadroomSteps, ComeFromTheLaunchesThatAllHave) {
  const auto last_of = [](const HeadroomRow& row) { return row.steps[3].time.value; };
  Record record = whole_run(Launches{});
  const double before = last_of(large_row(record));
  CaseResult& own = result_of(record, sum_of(2 * kMebibyte, true));
  for (const int launch : {6, 7}) add_samples(own, 0, launch, 20e-6);
  EXPECT_EQ(last_of(large_row(record)), before);
  EXPECT_EQ(large_row(record).steps.back().whole->replicates, kLaunches);
}

TEST(HeadroomSteps, AreApartByTypeAndContext) {
  Record record = whole_run(Launches{});
  for (const CaseResult& result : Record(record).cases) {
    CaseResult other = result;
    if (other.definition.operation != OperationKind::all_reduce) continue;
    other.definition.type = DataType::bfloat16;
    record.cases.push_back(other);
    if (other.definition.size < Bytes{8192}) other.definition.size = Bytes{8192};
    other.definition.hidden = 4096;
    record.cases.push_back(other);
  }
  const std::vector<HeadroomCurve> curves = curves_of(record);
  ASSERT_THAT(curves, SizeIs(3));
  for (const HeadroomCurve& curve : curves) {
    EXPECT_THAT(curve.rows, SizeIs(2));
    EXPECT_EQ(curve.latency->hidden, curve.definition.hidden);
    EXPECT_EQ(curve.latency->type, curve.definition.type);
  }
  EXPECT_EQ(curves[2].latency->size, Bytes{8192});
}

/// Requires 95 % of 1,000 runs: three standard errors of that are 2.1 %.
TEST(HeadroomSteps, HaveIntervalsThatHoldThePlantedFactors) {
  const Truth truth;
  const std::vector<double> times{truth.nccl, truth.setting, truth.symmetric, truth.kernel,
                                  truth.floor()};
  constexpr int kRuns = 1000;
  std::vector<int> held(times.size());
  for (unsigned seed = 1; seed <= kRuns; ++seed) {
    const HeadroomRow row = large_row(whole_run(Launches(0.02, seed), truth));
    ASSERT_THAT(row.steps, SizeIs(times.size()));
    for (std::size_t i = 1; i < times.size(); ++i) {
      held[i] += row.steps[i].factor->may_be(times[i - 1] / times[i]) ? 1 : 0;
    }
    held[0] += row.steps.back().whole->may_be(times.front() / times.back()) ? 1 : 0;
  }
  for (const int each : held) EXPECT_NEAR(1.0 * each / kRuns, 0.95, 0.021);
}

TEST(HeadroomSection, ShowsEveryStepAndTheFloor) {
  Record record = whole_run(Launches{});
  result_of(record, sum_of(2 * kMebibyte)).variants[0].evidence.emplace().plan.blocks = 24;
  result_of(record, sum_of(2 * kMebibyte, true)).variants[0].evidence.emplace().plan.blocks = 264;
  expect_golden(to_markdown(headroom_section(RunSummary(record))), "headroom_section.md");
}

TEST(HeadroomSection, SaysWhatAFloorLacks) {
  Record record = whole_run(Launches{});
  take_out(record, sum_of(16, true));
  for (const std::int64_t size : {1, 256}) take_out(record, stores(size * kMebibyte));
  expect_golden(to_markdown(headroom_section(RunSummary(record))), "headroom_without_floor.md");
}

}  // namespace
}  // namespace linkgain::test

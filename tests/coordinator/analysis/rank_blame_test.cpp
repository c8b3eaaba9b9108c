#include <gtest/gtest.h>

#include "linkgain/analysis/launch_statistics.hpp"
#include "support/fleet_records.hpp"

namespace linkgain::test {
namespace {

/// Has one case, eight rounds; rank `slow` takes `factor` times as long with the first variant.
Record record_with(int slow, double factor) {
  Record record = fleet_node("node", 1, 4, 1);
  add_fleet_samples(record, 8);
  for (Sample& sample : record.cases[0].samples) {
    for (auto& time : sample.times) time = Seconds{1e-3};
    if (sample.variant == 0)
      sample.times.at(static_cast<std::size_t>(slow)) = Seconds{1e-3 * factor};
  }
  return record;
}

TEST(SlowestRank, IsTheOneThatStandsOut) {
  const Record record = record_with(2, 1.3);
  const std::string name = case_name(record.cases[0].definition);
  EXPECT_EQ(slowest_rank(record, name, "p2p", 0.05), 2);
  EXPECT_FALSE(slowest_rank(record, name, "p2p", 0.4));
  EXPECT_FALSE(slowest_rank(record, name, "host", 0.05));
  EXPECT_FALSE(slowest_rank(record, name, "host", 0.0)) << "all are alike";
}

TEST(SlowestRank, IsOfTheCaseOfThatName) {
  Record record = record_with(2, 1.3);
  const std::string name = case_name(record.cases[0].definition);
  record.cases.insert(record.cases.begin(), 2, record_with(1, 1.3).cases[0]);
  for (std::int64_t i = 0; i < 2; ++i) record.cases[i].definition.size = Bytes{8 << i};
  EXPECT_EQ(slowest_rank(record, name, "p2p", 0.05), 2);
}

TEST(SlowestRank, IsTheFirstOfTwoAndOneOfThree) {
  Record record = record_with(1, 1.3);
  const std::string name = case_name(record.cases[0].definition);
  for (Sample& sample : record.cases[0].samples) sample.times[3] = sample.times[1];
  EXPECT_EQ(slowest_rank(record, name, "p2p", 0.05), 1);
  for (Sample& sample : record.cases[0].samples) sample.times.pop_back();
  EXPECT_EQ(slowest_rank(record, name, "p2p", 0.05), 1);
}

TEST(SlowestRank, IsAbsentWhereNothingIsKnown) {
  Record record = record_with(2, 1.3);
  const std::string name = case_name(record.cases[0].definition);
  EXPECT_FALSE(slowest_rank(record, "another", "p2p", 0.05));
  EXPECT_FALSE(slowest_rank(record, name, "another", 0.05));
  for (Sample& sample : record.cases[0].samples)
    sample.times.erase(sample.times.begin(), sample.times.begin() + 2);
  EXPECT_FALSE(slowest_rank(record, name, "p2p", 0.05)) << "two ranks";
  record.cases[0].samples.clear();
  EXPECT_FALSE(slowest_rank(record, name, "p2p", 0.05)) << "no samples";
}

}  // namespace
}  // namespace linkgain::test

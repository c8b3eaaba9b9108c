#include "linkgain/analysis/kernel_ratio.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <vector>

namespace linkgain {
namespace {

/// Two cases, each with variants "p2p" and "host".
Record two_cases() {
  Record record;
  for (const double time : {2.0, 3.0}) {
    CaseResult result;
    result.variants.resize(2);
    result.variants[0].variant = "p2p";
    result.variants[1].variant = "host";
    for (VariantResult& variant : result.variants) variant.time = Seconds{time};
    record.cases.push_back(result);
  }
  return record;
}

void add(Record& record, int place, int variant, int launch, const std::vector<double>& times) {
  for (const double time : times) {
    Sample sample;
    sample.variant = variant;
    sample.launch = launch;
    sample.seconds = {time / 2, time};
    record.cases[static_cast<std::size_t>(place)].samples.push_back(sample);
  }
}

TEST(CaseRatio, OfTimesHasNoInterval) {
  const Record record = two_cases();
  const Ratio ratio = ratio_of_cases(record.cases[0], record.cases[1], "host");
  EXPECT_DOUBLE_EQ(ratio.estimate, 1.5);
  EXPECT_FALSE(ratio.low);
}

TEST(CaseRatio, HoldsSamplesAgainstEachOtherInTurn) {
  Record record = two_cases();
  const std::vector<double> own{1.00, 1.02, 0.98, 1.01, 0.99, 1.00, 1.03, 0.97};
  std::vector<double> other;
  for (const double time : own) other.push_back(4.0 * time);
  other.push_back(100.0);  // which has no counterpart
  add(record, 0, 0, 0, own);
  add(record, 1, 0, 0, other);
  add(record, 1, 1, 0, {7.0});  // of the other variant
  const Ratio ratio = ratio_of_cases(record.cases[0], record.cases[1], "p2p");
  EXPECT_NEAR(ratio.estimate, 4.0, 1e-12);
  EXPECT_EQ(ratio.rounds, 8);
  ASSERT_TRUE(ratio.low);
  EXPECT_NEAR(*ratio.low, 4.0, 1e-12) << "all alike";
}

/// Logs of 2 and 8 have the mean of log 4; Student's t of one degree of freedom is 12.7062.
TEST(CaseRatio, OfSeveralLaunchesIsTheirMean) {
  Record record = two_cases();
  for (const int launch : {0, 1}) {
    add(record, 0, 0, launch, {1.0, 1.0, 1.0});
    add(record, 1, 0, launch, std::vector<double>(3, launch == 0 ? 2.0 : 8.0));
  }
  add(record, 1, 0, 2, {50.0});  // a launch that the first case lacks
  const Ratio ratio = ratio_of_cases(record.cases[0], record.cases[1], "p2p");
  EXPECT_NEAR(ratio.estimate, 4.0, 1e-9);
  ASSERT_TRUE(ratio.high);
  EXPECT_NEAR(*ratio.high, 4.0 * std::exp(12.7062 * std::log(2.0)), 1.0);
}

TEST(CaseRatio, NeedsTheTimes) {
  Record record = two_cases();
  record.cases[1].variants[0].time.reset();
  EXPECT_THROW(ratio_of_cases(record.cases[0], record.cases[1], "p2p"), std::invalid_argument);
  EXPECT_THROW(ratio_of_cases(record.cases[0], record.cases[1], "net"), std::invalid_argument);
}

TEST(LibraryRatio, HoldsAKernelAgainstItsTwin) {
  Record record = two_cases();
  record.cases[0].definition.kernel = true;
  EXPECT_DOUBLE_EQ(library_ratio(record, record.cases[0], "p2p").value().estimate, 1.5);
  EXPECT_FALSE(library_ratio(record, record.cases[1], "p2p")) << "is no kernel's";
  record.cases[1].variants[0].verification =
      Verification{.checked = 8, .wrong = 1, .first_wrong = {}};
  EXPECT_FALSE(library_ratio(record, record.cases[0], "p2p"));
  EXPECT_TRUE(library_ratio(record, record.cases[0], "host"));
  record.cases[1].definition.size = Bytes{4};
  EXPECT_FALSE(library_ratio(record, record.cases[0], "host"));
}

}  // namespace
}  // namespace linkgain

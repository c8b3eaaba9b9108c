#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <vector>

#include "linkgain/analysis/launch_statistics.hpp"

namespace linkgain::test {
namespace {

/// Has two cases, each with variants "p2p" and "host".
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
    sample.times = {Seconds{time / 2}, Seconds{time}};
    record.cases[static_cast<std::size_t>(place)].samples.push_back(sample);
  }
}

std::optional<Estimate> library_ratio_of(const Record& record, std::size_t place,
                                         std::string_view variant) {
  return library_ratio(record, launch_means(record), place, variant);
}

TEST(LibraryRatio, OfTimesHasNoInterval) {
  Record record = two_cases();
  record.cases[0].definition.kernel = true;
  const Estimate ratio = library_ratio_of(record, 0, "host").value();
  EXPECT_DOUBLE_EQ(ratio.value, 1.5);
  EXPECT_FALSE(ratio.interval);
}

/// Averages logs: 2 and 8 have the mean 4. The kernel's launches do not scatter, so that one degree
/// of freedom is left, with a Student's t of 12.7062.
TEST(LibraryRatio, IsThatOfLaunches) {
  Record record = two_cases();
  record.cases[0].definition.kernel = true;
  for (const int launch : {0, 1}) {
    add(record, 0, 0, launch,
        launch == 0 ? std::vector<double>{1.0, 1.0, 9.0} : std::vector<double>{1.0, 0.1, 1.0});
    add(record, 1, 0, launch, std::vector<double>(3, launch == 0 ? 2.0 : 8.0));
  }
  const Estimate ratio = library_ratio_of(record, 0, "p2p").value();
  EXPECT_NEAR(ratio.value, 4.0, 1e-9);
  EXPECT_EQ(ratio.replicates, 2);
  EXPECT_FALSE(ratio.interval) << "nothing is known of how the kernel's launches scatter";
  add(record, 0, 0, 2, {1.1, 1.1, 1.1});
  EXPECT_TRUE(library_ratio_of(record, 0, "p2p").value().interval);
}

TEST(LibraryRatio, HoldsAKernelAgainstItsTwin) {
  Record record = two_cases();
  record.cases[0].definition.kernel = true;
  EXPECT_DOUBLE_EQ(library_ratio_of(record, 0, "p2p").value().value, 1.5);
  EXPECT_FALSE(library_ratio_of(record, 1, "p2p")) << "is no kernel's";
  record.cases[1].variants[0].verification =
      Verification{.checked = 8, .wrong = 1, .first_wrong = {}};
  EXPECT_FALSE(library_ratio_of(record, 0, "p2p"));
  EXPECT_TRUE(library_ratio_of(record, 0, "host"));
  record.cases[1].definition.size = Bytes{4};
  EXPECT_FALSE(library_ratio_of(record, 0, "host"));
}

}  // namespace
}  // namespace linkgain::test

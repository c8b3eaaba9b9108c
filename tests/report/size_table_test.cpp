#include "linkgain/report/size_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/golden.hpp"
#include "report/sample_records.hpp"

namespace linkgain {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace linkgain::testing;

TEST(SizeTable, HasARowForEachSize) { expect_golden(size_tables(h200_record()), "sizes_h200.md"); }

TEST(SizeTable, SaysWhyAVariantWasSkipped) {
  expect_golden(size_tables(three_variants_record()), "sizes_three_variants.md");
}

TEST(SizeTable, SaysSameRoadInsteadOfARatio) {
  expect_golden(size_tables(phb_record()), "sizes_same_road.md");
}

TEST(SizeTable, ShowsWrongDataInsteadOfTimes) {
  expect_golden(size_tables(wrong_data_record()), "sizes_wrong_data.md");
}

TEST(SizeTable, SortsSizesWithinACurve) {
  Record record = h200_record();
  std::swap(record.cases[0], record.cases[2]);
  EXPECT_EQ(size_tables(record), size_tables(h200_record()));
}

TEST(SizeTable, TooFewRoundsHaveNoInterval) {
  Record record = one_case(3.0e-3, 36.0e-3, 11.9, 12.1);
  record.cases[0].ratios[0].ratio = {.estimate = 12.0, .low = {}, .high = {}, .rounds = 3};
  record.cases[0].converged = false;
  const std::string text = size_tables(record);
  EXPECT_THAT(text, HasSubstr("|    12.0x | too few rounds |"));
  EXPECT_THAT(text, HasSubstr("- `*` not converged"));
}

TEST(SizeTable, AVariantThatTakesLongerHasNegativeLessTime) {
  const std::string text = size_tables(one_case(10.0e-3, 9.3e-3, 0.92, 0.94));
  EXPECT_THAT(text, HasSubstr("|    0.93x | 0.92x … 0.94x |    -7.5 % |"));
}

TEST(SizeTable, ExplainsOnlyTheMarksInUse) {
  EXPECT_THAT(size_tables(one_case(3.0e-3, 36.0e-3, 11.9, 12.1)), Not(HasSubstr("- `")));
}

}  // namespace
}  // namespace linkgain

#include "linkgain/report/size_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "support/counted_records.hpp"
#include "support/golden.hpp"
#include "support/sample_records.hpp"

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

TEST(SizeTable, HasNoColumnOfBandwidthsWhereThereAreNone) {
  Record record = load_latency_record();
  EXPECT_THAT(size_tables(record), HasSubstr("| Size  | p2p      | host    | Speed-up |"));
  VariantResult third = record.cases[0].variants[1];
  third.variant = "net";
  record.cases[0].variants.push_back(third);
  EXPECT_THAT(size_tables(record), HasSubstr("| Size  | Variant | Time     | Path        |"));
}

TEST(SizeTable, SortsSizesWithinACurve) {
  Record record = h200_record();
  std::swap(record.cases[0], record.cases[2]);
  EXPECT_EQ(size_tables(record), size_tables(h200_record()));
}

TEST(SizeTable, MarksGroupedOperations) {
  Record record = one_case(3.0e-3, 36.0e-3, 11.9, 12.1);
  EXPECT_THAT(size_tables(record), ::testing::Not(HasSubstr("- `g`")));
  for (VariantResult& variant : record.cases[0].variants) variant.execution.form = kGroupedForm;
  EXPECT_THAT(size_tables(record), HasSubstr("- `g` grouped: sends and receives in one group"));
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
  EXPECT_THAT(text, HasSubstr("|    0.93x | 0.92–0.94x |    -7.5 % |"));
}

TEST(SizeTable, ExplainsOnlyTheMarksInUse) {
  EXPECT_THAT(size_tables(one_case(3.0e-3, 36.0e-3, 11.9, 12.1)), Not(HasSubstr("- `")));
}

TEST(SizeTable, ShowsLimitsAndEvidence) {
  expect_golden(size_tables(complete(h200_record())), "sizes_h200_counted.md");
}

TEST(SizeTable, HasARowForEachOfManyVariants) {
  expect_golden(size_tables(complete(three_variants_record())), "sizes_three_variants_counted.md");
}

/// Of the tables' lines; legends may be longer.
std::size_t widest_line(const std::string& text) {
  std::size_t widest = 0;
  std::size_t width = 0;
  bool table = false;
  for (const char c : text) {
    if (c == '\n') {
      widest = table ? std::max(widest, width) : widest;
      width = 0;
    } else {
      table = width == 0 ? c == '|' : table;
      width += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
    }
  }
  return widest;
}

TEST(SizeTable, StaysNarrow) {
  EXPECT_LE(widest_line(size_tables(complete(h200_record()))), 120U);
  EXPECT_LE(widest_line(size_tables(complete(three_variants_record()))), 120U);
}

TEST(SizeTable, MarksHeldBackAndCappedSamples) {
  Record record = complete(one_case(3.27e-3, 39.0e-3, 11.83, 12.02));
  record.cases[0].variants[1].health.unhealthy_samples = 2;
  record.cases[0].variants[0].health.power_capped_samples = 1;
  const std::string text = size_tables(record);
  EXPECT_THAT(text, HasSubstr("| p h   |"));
  EXPECT_THAT(text, HasSubstr("- `h` held back:"));
  EXPECT_THAT(text, HasSubstr("- `p` a GPU ran at its power limit"));
}

TEST(SizeTable, NamesPathsThatAreNotTheUsualOnes) {
  Record record = complete(h200_record());
  record.cases[0].variants[0].path = Path::mixed;
  const std::string text = size_tables(record);
  EXPECT_THAT(text, HasSubstr("- Path: NVLink with p2p, host memory with host\n"));
  EXPECT_THAT(text, HasSubstr("| * w (1) |"));
  EXPECT_THAT(text, HasSubstr("- `(1)` path of p2p at this size: mixed\n"));
}

TEST(SizeTable, SaysWhichVariantWasNotJudged) {
  Record record = complete(one_case(3.27e-3, 39.0e-3, 11.83, 12.02));
  record.cases[0].variants[0].evidence = uncounted("no counters");
  EXPECT_THAT(size_tables(record), HasSubstr("|    ? / 0 |"));
  record.cases[0].variants[1].evidence = uncounted("no counters");
  EXPECT_THAT(size_tables(record), Not(HasSubstr("NVLink %")));
}

}  // namespace
}  // namespace linkgain

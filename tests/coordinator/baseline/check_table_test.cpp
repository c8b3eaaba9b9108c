#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/baseline/check_report.hpp"
#include "sample_checks.hpp"
#include "support/golden.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(CheckTable, PutsWhatFailsFirst) { expect_golden(check_table(troubled_check()), "check.txt"); }

TEST(CheckTable, PutsWhatIsMissingInOneRow) {
  EXPECT_EQ(check_table(sparse_check()),
            "node7 (1 launch) against the baseline of 2026-11-21T20:00:00Z: 2 x NVIDIA H200, "
            "NVLink, NCCL 2.28\n\n"
            "  Verdict       Case            Variant  Baseline      Now    Shift           95 % CI"
            "  Why\n"
            "  missing       5 cases         p2p                      –                           "
            "  (1)\n"
            "  missing       5 cases         host                     –                           "
            "  (1)\n"
            "  unknown-path  all_reduce 8 B  p2p       6.50 us  6.52 us  +0.30 %  -0.90 to +1.51 %"
            "  (2)\n\n"
            "  (1) not in the record: all_reduce 1 KiB, all_reduce 2 KiB, all_reduce 4 KiB and 2 "
            "more\n"
            "  (2) nvlink in the baseline, not known now\n\n"
            "Tolerance: ±5 %\n\n"
            "FAILED: 10 of 11 cases fail (10 missing); 1 unknown-path\n");
}

TEST(CheckTable, OfAQuietCheckIsShort) {
  EXPECT_EQ(check_table(quiet_check()),
            "node7 (1 launch) against the baseline of 2026-11-21T20:00:00Z: 2 x NVIDIA H200, "
            "NVLink, NCCL 2.28\n\nPASSED: 0 of 2 cases fail; 2 same\n");
}

TEST(CheckTable, NamesAnInconclusiveCheck) {
  CheckResult result = quiet_check();
  result.cases[1].verdict = RegressionVerdict::inconclusive;
  result.cases[1].settling = Settling{12, true};
  EXPECT_THAT(check_table(result),
              AllOf(HasSubstr("12 launches would settle it, if the baseline had as many"),
                    EndsWith("INCONCLUSIVE: 0 of 2 cases fail; 1 inconclusive, 1 same\n")));
}

TEST(CheckMarkdown, HasAHeadingAndATable) {
  expect_golden(check_markdown(troubled_check()), "check.md");
}

TEST(CheckMarkdown, OfAQuietCheckHasNoTable) {
  EXPECT_THAT(check_markdown(quiet_check()),
              AllOf(HasSubstr("## linkgain check: PASSED\n"), Not(HasSubstr("|"))));
}

TEST(CheckCsv, HasARowForEveryCase) { expect_golden(check_csv(troubled_check()), "check.csv"); }

}  // namespace
}  // namespace linkgain::test

#include "linkgain/report/markdown.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/counted_records.hpp"
#include "support/golden.hpp"
#include "support/pair_records.hpp"
#include "support/sample_records.hpp"

namespace linkgain {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace linkgain::testing;

TEST(MarkdownReport, OfTwoH200) { expect_golden(markdown_report(h200_record()), "report_h200.md"); }

TEST(MarkdownReport, HasPairsBehindSizes) {
  const std::string text = markdown_report(two_gpus_pairs_record());
  const std::size_t pairs = text.find("\n## Pairs\n");
  ASSERT_NE(pairs, std::string::npos);
  EXPECT_LT(text.find("\n## By size\n"), pairs);
  EXPECT_LT(pairs, text.find("\n## Variants\n"));
  EXPECT_THAT(markdown_report(one_case(3.0e-3, 36.0e-3, 11.9, 12.1)), Not(HasSubstr("## Pairs")));
  EXPECT_THAT(markdown_report(four_gpus_record()), Not(HasSubstr("## By size")));
}

TEST(MarkdownReport, OfTwoH200WithEvidenceAndHealth) {
  expect_golden(markdown_report(complete(h200_record())), "report_h200_counted.md");
}

TEST(MarkdownReport, OfTheMpiBackend) {
  expect_golden(markdown_report(mpi_record()), "report_mpi.md");
}

TEST(MarkdownReport, OfARecordWithNothingInIt) {
  expect_golden(markdown_report(Record{}), "report_empty.md");
}

TEST(MarkdownReport, HasNoWarningsSectionWithoutWarnings) {
  EXPECT_THAT(markdown_report(phb_record()), Not(HasSubstr("## Warnings")));
}

TEST(MarkdownReport, TellsLinksThatAreDown) {
  Record record = h200_record();
  record.machine.ranks[1].gpu->nvlink_links_active = 17;
  EXPECT_THAT(markdown_report(record), HasSubstr("| 17 of 18 links, NVLink 4.0 |"));
}

TEST(MarkdownReport, TellsNcclVersionsThatDiffer) {
  Record record = h200_record();
  record.machine.software.nccl_library = "2.28.9";
  EXPECT_THAT(markdown_report(record), HasSubstr("- NCCL: 2.28.9 (built with 2.28.3)\n"));
}

}  // namespace
}  // namespace linkgain

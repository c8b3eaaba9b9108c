#include "linkgain/report/markdown.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/counted_records.hpp"
#include "report/golden.hpp"
#include "report/sample_records.hpp"

namespace linkgain {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace linkgain::testing;

TEST(MarkdownReport, OfTwoH200) { expect_golden(markdown_report(h200_record()), "report_h200.md"); }

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

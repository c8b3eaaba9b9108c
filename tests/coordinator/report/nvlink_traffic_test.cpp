#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/report/report.hpp"
#include "support/counted_records.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"
#include "training_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

Record counted_case() { return complete(one_case(3.27e-3, 39.0e-3, 11.83, 12.02)); }

std::string section(const Record& record) {
  return to_markdown(nvlink_traffic_section(RunSummary(record)));
}

TEST(NvlinkTrafficSection, SaysWhatWasCounted) {
  Situations sections;
  const auto add = [&](const std::string& situation, const Record& record) {
    const std::string text = section(record);
    sections.add(situation, text.substr(text.find("\n|") + 1));
  };
  add("all and nothing", counted_case());
  Record record = complete(three_variants_record());
  record.cases.pop_back();
  record.cases[0].definition.size = Bytes{1 << 30};
  for (VariantResult& variant : record.cases[0].variants) {
    variant.evidence =
        counted(record.cases[0].definition, variant.path == Path::nvlink ? 0.998 : 0);
  }
  add("three variants", record);
  record = counted_case();
  record.cases[0].variants[1].evidence = counted(record.cases[0].definition, 0.0004);
  add("little, not nothing", record);
  record.cases[0].variants[1].evidence = counted(record.cases[0].definition, 0.5);
  add("half", record);
  record = counted_case();
  for (VariantResult& variant : record.cases[0].variants) {
    variant.evidence = uncounted("the ranks' GPUs have no NVLink counters");
  }
  add("no counters", record);
  record = counted_case();
  TrafficEvidence nvls = counted(record.cases[0].definition, 0.5);
  nvls.plan.algorithm = "NVLS";
  nvls.expected.reset();
  nvls.judged = false;
  nvls.reason = "nothing is known of what NVLS moves";
  record.cases[0].variants[0].evidence = nvls;
  add("one variant is not judged", record);
  record = counted_case();
  record.cases[0].variants[1].evidence.reset();
  add("nothing was counted of one variant", record);
  expect_golden(sections.text(), "nvlink_traffic_situations.md");
}

TEST(NvlinkTrafficSection, IsNotThereWhereNothingWasCounted) {
  EXPECT_EQ(section(one_case(3.27e-3, 39.0e-3, 11.83, 12.02)), "");
  EXPECT_EQ(section(h200_record()), "");
  EXPECT_EQ(section(mpi_record()), "");
}

TEST(NvlinkTrafficSection, HasARowForEachCaseAndVariant) {
  Record record = complete(h200_record());
  record.cases[3].variants[1].evidence->pcie_sent = 5 * (std::int64_t{1} << 31);
  record.cases[3].variants[1].evidence->pcie_received = 5 * (std::int64_t{1} << 30);
  expect_golden(to_markdown(nvlink_traffic_section(RunSummary(record))), "nvlink_traffic_h200.md");
}

/// Adds counted bytes to the guide's training.
Record counted_training() {
  Record record = page_record();
  for (CaseResult& result : record.cases) {
    TrafficEvidence& evidence = result.variants[0].evidence.emplace();
    evidence.operations = 11;
    evidence.plan = {"", "SIMPLE"};
    evidence.nvlink_sent = 0;
  }
  return record;
}

TEST(NvlinkTrafficSection, SaysWhoNamedTheAlgorithmsAndWhatIsAbsent) {
  Situations sections;
  const auto add = [&](const std::string& situation, const Record& record) {
    sections.add(situation,
                 without_tables(to_markdown(nvlink_traffic_section(RunSummary(record)))));
  };
  Record record = counted_case();
  add("NCCL's", record);
  CaseResult own = record.cases[0];
  own.definition.kernel = true;
  record.cases.push_back(own);
  add("NCCL's and a kernel", record);
  record.cases = {own};
  add("a kernel", record);
  record = counted_training();
  add("a training", record);
  record.cases.push_back(counted_case().cases[0]);
  add("a training and NCCL's", record);
  record = counted_case();
  std::vector<VariantResult>& variants = record.cases[0].variants;
  for (VariantResult& variant : variants) variant.evidence->pcie_reason = "may have wrapped";
  add("no PCIe bytes", record);
  variants[1].evidence->pcie_reason.clear();
  variants[1].evidence->pcie_sent = 5 * (std::int64_t{1} << 31);
  variants[1].evidence->pcie_received = 5 * (std::int64_t{1} << 30);
  add("no PCIe bytes of one variant", record);
  variants[0].evidence->reason = "protocol LL, not SIMPLE";
  add("and a reason not to judge it", record);
  expect_golden(sections.text(), "nvlink_traffic_sections.md");
}

TEST(NvlinkTrafficSection, NamesNoAlgorithmOfAStepWithoutCommunication) {
  const std::string text = to_markdown(nvlink_traffic_section(RunSummary(counted_training())));
  EXPECT_THAT(text, HasSubstr("| gpt2_step fp32 gpt2      | p2p     | NVLink      | SIMPLE    |"));
  EXPECT_THAT(text, HasSubstr("| gpt2_step fp32 gpt2 none | p2p     | unknown     |           |"));
}

TEST(NvlinkTrafficSection, LeavesPcieOutWhereNothingIsKnownOfIt) {
  EXPECT_THAT(to_markdown(nvlink_traffic_section(RunSummary(counted_case()))),
              Not(HasSubstr("PCIe")));
}

TEST(NvlinkTrafficSection, MarksWherePcieBytesAreAbsent) {
  Record record = counted_case();
  std::vector<VariantResult>& variants = record.cases[0].variants;
  for (VariantResult& variant : variants) variant.evidence->pcie_reason = "may have wrapped";
  EXPECT_THAT(to_markdown(nvlink_traffic_section(RunSummary(record))), Not(HasSubstr("PCIe out")));
  variants[1].evidence->pcie_reason.clear();
  variants[1].evidence->pcie_sent = 5 * (std::int64_t{1} << 31);
  variants[1].evidence->pcie_received = 5 * (std::int64_t{1} << 30);
  EXPECT_THAT(to_markdown(nvlink_traffic_section(RunSummary(record))),
              AllOf(HasSubstr("| 100.4 % |          |          | (1)  |"),
                    HasSubstr("| 2.00 GiB | 1.00 GiB |      |")));
  variants[0].evidence->reason = "protocol LL, not SIMPLE";
  EXPECT_THAT(to_markdown(nvlink_traffic_section(RunSummary(record))), HasSubstr("| (1) (2) |"));
}

TEST(SizeTables, NameTheRangeOfALimit) {
  Record record = complete(h200_record());
  VariantResult& host = record.cases[1].variants[1];
  host.fraction_of_limit = *host.busbw / 54.7;
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))), HasSubstr(" 54.7 to 55.3 GB/s"));
}

/// Covers old records, which compared a pair with the rate of all ranks at once.
TEST(SizeTables, ShowNoShareOfWhatIsNoLimit) {
  Record record = complete(h200_record());
  record.cases.erase(record.cases.begin(), record.cases.begin() + 3);
  VariantResult& host = record.cases[0].variants[1];
  host.limit = LimitKind::copy;
  host.fraction_of_limit = 0.43;
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))), HasSubstr(" 23.7 (43 %) |"));
  host.fraction_of_limit = 1.16;
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))), HasSubstr(" 23.7 |"));
  host.fraction_of_limit = 0.43;
  record.cases[0].definition.ranks = 4;
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))),
              AllOf(HasSubstr(" 23.7 |"), Not(HasSubstr("pinned host"))));
}

/// Allows for others, whose use of the host's memory may have lowered the limit.
TEST(SizeTables, MarkWhatIsMoreThanTheLimit) {
  Record record = complete(h200_record());
  VariantResult& host = record.cases[3].variants[1];
  host.fraction_of_limit = 1.004;
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))), Not(HasSubstr("- `m`")));
  host.fraction_of_limit = 1.19;
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))),
              AllOf(HasSubstr("(119 %)"), HasSubstr(" m "), HasSubstr("- `m`")));
}

TEST(SizeTables, NameTheLimitsOnce) {
  Record record = complete(h200_record());
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))), HasSubstr("| 328.4 (73 %) |"));
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))),
              AllOf(HasSubstr(" 450 GB/s"), HasSubstr(" 55.3 GB/s"), HasSubstr(" 55.5 GB/s")));
  for (CaseResult& result : record.cases) {
    for (VariantResult& variant : result.variants) variant.fraction_of_limit.reset();
  }
  EXPECT_THAT(to_markdown(size_tables(RunSummary(record))), Not(HasSubstr("450 GB/s")));
}

}  // namespace
}  // namespace linkgain::test

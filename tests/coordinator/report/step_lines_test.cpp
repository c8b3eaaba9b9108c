#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/report/csv.hpp"
#include "linkgain/report/markdown.hpp"
#include "linkgain/report/size_table.hpp"
#include "support/counted_records.hpp"
#include "support/sample_records.hpp"

namespace linkgain {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace linkgain::testing;

/// All-reduces of 256 KiB and on, each `factor` times the last, that take so many microseconds with
/// p2p and 100 with host.
Record curve_of(const std::vector<double>& times, int factor = 2) {
  Record record = two_gpus();
  std::int64_t size = 256 << 10;
  for (const double time : times) {
    record.cases.push_back(nvlink_case(all_reduce(size), time * 1e-6, 100e-6, 4.9, 5.1));
    size *= factor;
  }
  return record;
}

/// As measured on two H200.
Record stepping_record() { return curve_of({10.33, 11.10, 15.33, 29.37, 34.72, 49.53}); }

/// NCCL's plan of the first variant at the sizes that the step lies between, 1 and 2 MiB.
Record with_plans(TransferPlan from, TransferPlan to) {
  Record record = complete(stepping_record());
  record.cases[2].variants[0].evidence->plan = std::move(from);
  record.cases[3].variants[0].evidence->plan = std::move(to);
  return record;
}

constexpr const char* kStep =
    "- Step from 1 MiB to 2 MiB with p2p: 2x the size takes 1.92x the time, where the pace before "
    "and after it gives 1.38x and 1.18x";

TEST(StepLines, StandBelowTheTable) {
  const std::string text = size_tables(stepping_record());
  EXPECT_THAT(text, HasSubstr(" |\n\n" + std::string(kStep) + "\n- Path: NVLink with p2p"));
  EXPECT_THAT(text, Not(HasSubstr("with host:")));
  EXPECT_THAT(markdown_report(stepping_record()), HasSubstr(kStep));
}

TEST(StepLines, StandBelowTheTableOfManyVariants) {
  Record record = stepping_record();
  for (CaseResult& result : record.cases) {
    result.variants.push_back(measured(result.definition, "net", 100e-6, Path::network));
    result.variants.push_back(result.variants[0]);
    result.variants.back().variant = "ring";
  }
  const std::string text = size_tables(record);
  EXPECT_THAT(text,
              HasSubstr(" |\n\n" + std::string(kStep) + "\n- Step from 1 MiB to 2 MiB with ring"));
}

TEST(StepLines, AreNotInTheCsv) {
  const std::string text = csv(stepping_record());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 6 * 2);  // header, sizes by variants
}

TEST(StepLines, NameTheChangeOfPlan) {
  EXPECT_THAT(size_tables(with_plans({"RING", "LL"}, {"RING", "SIMPLE"})),
              HasSubstr(std::string(kStep) + "; NCCL goes from RING LL to RING SIMPLE there\n"));
  EXPECT_THAT(size_tables(with_plans({"TREE", "LL"}, {"RING", "LL"})),
              HasSubstr("; NCCL goes from TREE LL to RING LL there\n"));
}

TEST(StepLines, SayThatThePlanStays) {
  EXPECT_THAT(size_tables(with_plans({"RING", "SIMPLE"}, {"RING", "SIMPLE"})),
              HasSubstr(std::string(kStep) +
                        "; NCCL's algorithm and protocol stay the same (RING SIMPLE)\n"));
  EXPECT_THAT(size_tables(with_plans({"", "SIMPLE"}, {"", "SIMPLE"})),
              HasSubstr(std::string(kStep) + "; NCCL's protocol stays the same (SIMPLE)\n"));
}

TEST(StepLines, SayNothingOfAPlanThatIsNotKnownAtBothSizes) {
  const std::string plain = std::string(kStep) + "\n";
  EXPECT_THAT(size_tables(with_plans({}, {"RING", "SIMPLE"})), HasSubstr(plain));
  EXPECT_THAT(size_tables(with_plans({"RING", "LL"}, {})), HasSubstr(plain));
  EXPECT_THAT(size_tables(with_plans({}, {})), HasSubstr(plain));
}

TEST(StepLines, NameAFall) {
  EXPECT_THAT(size_tables(curve_of({15, 24, 42, 32, 48, 80})),
              HasSubstr("- Fall from 1 MiB to 2 MiB with p2p: 2x the size takes 0.76x the time, "
                        "where the pace before and after it gives 1.75x and 1.50x\n"));
}

TEST(StepLines, NameGrowthThatIsNotTwofold) {
  EXPECT_THAT(size_tables(curve_of({10, 10, 150, 160, 170}, 16)),
              HasSubstr("- Step from 4 MiB to 64 MiB with p2p: 16x the size takes 15.0x the time"));
  Record record = curve_of({10, 10, 40, 40});
  record.cases[2].definition.size = Bytes{1280 << 10};
  EXPECT_THAT(size_tables(record), HasSubstr("- Step from 512 KiB to 1280 KiB with p2p: 2.50x the "
                                             "size takes 4.00x the time"));
}

}  // namespace
}  // namespace linkgain

#include "linkgain/report/csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/counted_records.hpp"
#include "report/golden.hpp"
#include "report/pair_records.hpp"
#include "report/sample_records.hpp"

namespace linkgain {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using namespace linkgain::testing;

constexpr const char* kHeader =
    "case,operation,type,reduction,size_bytes,ranks,in_place,launch,pair,variant,time_s,"
    "algbw_gb_per_s,busbw_gb_per_s,path,wrong,ratio,ratio_low,ratio_high,less_time,rounds,"
    "converged,skipped,fraction_of_limit,limit,algorithm,protocol,counted_operations,"
    "nvlink_sent_bytes,nvlink_received_bytes,pcie_sent_bytes,pcie_received_bytes,expected_bytes,"
    "nvlink_share,judged,not_judged_because,highest_temperature_c,lowest_sm_clock_mhz,"
    "health_samples,unhealthy_samples,power_capped_samples,buffers,root,kernel,form,link\n";

TEST(Csv, HasAHeaderEvenWithoutRows) { EXPECT_EQ(csv(Record{}), kHeader); }

TEST(Csv, HasARowForEachCaseAndVariant) { expect_golden(csv(h200_record()), "h200.csv"); }

TEST(Csv, LeavesEmptyWhatWasNotMeasured) {
  expect_golden(csv(three_variants_record()), "three_variants.csv");
}

TEST(Csv, HasEvidenceAndHealthAtTheEnd) {
  expect_golden(csv(complete(h200_record())), "h200_counted.csv");
}

TEST(Csv, QuotesWhatNeedsIt) {
  Record record = two_gpus();
  record.cases = {converged(all_reduce(8), {skipped("p2p", "no \"P2P\", no\nluck")}, {})};
  EXPECT_THAT(csv(record), EndsWith(",\"no \"\"P2P\"\", no\nluck\"" + std::string(18, ',') +
                                    ",plain,,false,,\n"));
}

TEST(Csv, NamesBuffersRootAndForm) {
  Record record = one_case(3.0e-3, 36.0e-3, 11.9, 12.1);
  Case& definition = record.cases[0].definition;
  definition.operation = OperationKind::gather;
  definition.buffers = Buffers::registered;
  definition.root = 1;
  record.cases[0].variants[1].execution.form = kGroupedForm;
  EXPECT_THAT(csv(record),
              AllOf(HasSubstr("/registered/root=1,gather,"), HasSubstr(",registered,1,false,,\n"),
                    EndsWith(",registered,1,false,grouped send/recv,\n")));
}

TEST(Csv, NamesThePairAndWhatJoinsIt) {
  const std::string text = csv(four_gpus_record());
  EXPECT_THAT(text, HasSubstr("/pair=2-3,send_recv,float32,,268435456,4,false,stream,2-3,p2p,"));
  EXPECT_THAT(text, HasSubstr("/pair=0-2/both,send_recv,float32,,268435456,4,false,stream,"
                              "0-2/both,p2p,"));
  EXPECT_THAT(text, HasSubstr(",plain,,false,,NV4\n"));
  EXPECT_THAT(text, HasSubstr(",plain,,false,,SYS\n"));
}

TEST(Csv, KeepsEveryDigit) {
  const double time = 1.0 / 3.0;
  Record record = one_case(time, 0.5, 1.4, 1.6);
  EXPECT_THAT(csv(record), HasSubstr(",p2p,0.3333333333333333,"));
}

TEST(Csv, CountsWrongElements) {
  EXPECT_THAT(csv(wrong_data_record()), HasSubstr(",host-memory,12,"));
}

}  // namespace
}  // namespace linkgain

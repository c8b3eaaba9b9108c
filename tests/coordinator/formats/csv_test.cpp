#include "linkgain/formats/csv.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "coordinator/report/training_records.hpp"
#include "linkgain/base/text.hpp"
#include "support/counted_records.hpp"
#include "support/golden.hpp"
#include "support/pair_records.hpp"
#include "support/sample_records.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr const char* kHeader =
    "case,operation,type,reduction,size_bytes,ranks,in_place,launch,pair,variant,time_s,"
    "algbw_gb_per_s,busbw_gb_per_s,path,wrong,ratio,ratio_low,ratio_high,less_time,launches,"
    "converged,skipped,fraction_of_limit,limit,algorithm,protocol,blocks,counted_operations,"
    "nvlink_sent_bytes,nvlink_received_bytes,pcie_sent_bytes,pcie_received_bytes,expected_bytes,"
    "nvlink_share,judged,not_judged_because,highest_temperature_c,lowest_sm_clock_mhz,"
    "health_samples,unhealthy_samples,power_capped_samples,buffers,root,kernel,form,link,"
    "model_size,training_precision,strategy,buckets,bucket_mib,bucket_count,batch,sequence,dropout,"
    "steps,"
    "steps_time_s,steps_run,steps_run_time_s,exposed_s,exposed_low_s,exposed_high_s,"
    "exposed_launches,first_loss,"
    "last_loss,loss_difference,library_ratio,library_ratio_low,library_ratio_high,"
    "library_ratio_launches,"
    "disturbed_samples,level_change\n";

/// Stands behind the columns of all operations in rows of no training and no kernel, where nobody
/// looked for others' work.
const std::string kNoTraining(20 + 4 + 2, ',');

TEST(Csv, HasAHeaderEvenWithoutRows) { EXPECT_EQ(csv(RunSummary(Record{})), kHeader); }

TEST(Csv, HasARowForEachCaseAndVariant) {
  expect_golden(csv(RunSummary(h200_record())), "h200.csv");
}

TEST(Csv, LeavesEmptyWhatWasNotMeasured) {
  expect_golden(csv(RunSummary(three_variants_record())), "three_variants.csv");
}

TEST(Csv, HasEvidenceAndHealthAtTheEnd) {
  expect_golden(csv(RunSummary(complete(h200_record()))), "h200_counted.csv");
}

TEST(Csv, QuotesWhatNeedsIt) {
  Record record = two_gpus();
  record.cases = {converged(all_reduce(8), {skipped("p2p", "no \"P2P\", no\nluck")}, {})};
  EXPECT_THAT(csv(RunSummary(record)),
              EndsWith(",\"no \"\"P2P\"\", no luck\"" + std::string(19, ',') + ",plain,,false,," +
                       kNoTraining + "\n"));
}

TEST(Csv, NamesBuffersRootAndForm) {
  Record record = one_case(3.0e-3, 36.0e-3, 11.9, 12.1);
  Case& definition = record.cases[0].definition;
  definition.operation = OperationKind::gather;
  definition.buffers = Buffers::registered;
  definition.root = 1;
  record.cases[0].variants[1].execution.form = kGroupedForm;
  EXPECT_THAT(csv(RunSummary(record)),
              AllOf(HasSubstr("/registered/root=1,gather,"),
                    HasSubstr(",registered,1,false,," + kNoTraining + "\n"),
                    EndsWith(",registered,1,false,grouped send/recv," + kNoTraining + "\n")));
}

TEST(Csv, NamesThePairAndWhatJoinsIt) {
  const std::string text = csv(RunSummary(four_gpus_record()));
  EXPECT_THAT(text, HasSubstr("/pair=2-3,send_recv,float32,,268435456,4,false,stream,2-3,p2p,"));
  EXPECT_THAT(text, HasSubstr("/pair=0-2/both,send_recv,float32,,268435456,4,false,stream,"
                              "0-2/both,p2p,"));
  EXPECT_THAT(text, HasSubstr(",plain,,false,,NV4" + kNoTraining + "\n"));
  EXPECT_THAT(text, HasSubstr(",plain,,false,,SYS" + kNoTraining + "\n"));
}

/// Reads the fields of a row by the names of their columns.
std::map<std::string, std::string> row_of(const std::string& text, std::size_t number) {
  const std::vector<std::string> lines = split(text, '\n');
  const std::vector<std::string> names = split(lines.at(0), ',');
  const std::vector<std::string> fields = split(lines.at(number), ',');
  EXPECT_EQ(fields.size(), names.size());
  std::map<std::string, std::string> row;
  for (std::size_t i = 0; i < names.size(); ++i) row[names[i]] = fields.at(i);
  return row;
}

TEST(Csv, HasNoRatioWhereTheReportRefusesOne) {
  const std::string wrong = csv(RunSummary(wrong_data_record()));
  for (const auto& [row, ratio] : {std::pair(2, ""), {4, "4.2"}, {6, ""}}) {
    EXPECT_EQ(row_of(wrong, static_cast<std::size_t>(row))["ratio"].substr(0, 3), ratio) << row;
  }
  auto one_path = row_of(csv(RunSummary(phb_record())), 2);
  for (const char* column : {"ratio", "ratio_low", "ratio_high", "less_time", "launches"}) {
    EXPECT_EQ(one_path[column], "") << column;
  }
}

/// Has two trainings' four rows, then an all_reduce's.
Record trainings_and_others() {
  Record record = page_record();
  for (CaseResult& result : record.cases) {
    for (Sample& sample : result.samples) {
      if (sample.variant == 1 && sample.round == 3) *sample.loss *= 1.0 + 0x1p-18;
    }
  }
  finish(record);
  record.cases.push_back(nvlink_case(all_reduce(1 << 30), 3.27e-3, 39.0e-3, 11.83, 12.02));
  return record;
}

TEST(Csv, HoldsAKernelAgainstTheLibrary) {
  Record record = one_case(3.0e-3, 36.0e-3, 11.9, 12.1);
  record.cases.push_back(record.cases[0]);
  record.cases[1].definition.kernel = true;
  for (VariantResult& variant : record.cases[1].variants) variant.time->value /= 2.0;
  EXPECT_EQ(row_of(csv(RunSummary(record)), 2)["library_ratio"], "");
  EXPECT_EQ(row_of(csv(RunSummary(record)), 3)["library_ratio"], "2");
  EXPECT_EQ(row_of(csv(RunSummary(record)), 3)["library_ratio_low"], "") << "it has no samples";
}

TEST(Csv, SaysWhatWasTrainedAndWhatCameOfIt) {
  auto row = row_of(csv(RunSummary(trainings_and_others())), 2);
  EXPECT_EQ(row["case"], "gpt2_step/fp32/gpt2/np2");
  EXPECT_EQ(row["variant"], "host");
  EXPECT_EQ(row["model_size"], "gpt2");
  EXPECT_EQ(row["training_precision"], "fp32");
  EXPECT_EQ(row["strategy"], "ddp");
  EXPECT_EQ(row["buckets"], "current");
  EXPECT_EQ(row["bucket_mib"], "") << "PyTorch's";
  EXPECT_EQ(row["bucket_count"], "13");
  EXPECT_EQ(row["batch"], "4");
  EXPECT_EQ(row["sequence"], "1024");
  EXPECT_EQ(row["dropout"], "0.1");
  EXPECT_EQ(row["steps"], "200");
  EXPECT_NEAR(std::stod(row["steps_time_s"]), 131.44, 1e-9);
  EXPECT_EQ(row["steps_run"], "200");
  EXPECT_NEAR(std::stod(row["steps_run_time_s"]), 131.44, 1e-4);
  // Four launches 0.05 % above and below: Student's t of three degrees of freedom is 3.182.
  const double half_width = 3.182 * 0.1572 * 5e-4 * std::sqrt(4.0 / 3.0) / 2.0;
  EXPECT_NEAR(std::stod(row["exposed_s"]), 0.1572, 1e-7);
  EXPECT_NEAR(std::stod(row["exposed_low_s"]), 0.1572 - half_width, 1e-7);
  EXPECT_NEAR(std::stod(row["exposed_high_s"]), 0.1572 + half_width, 1e-7);
  EXPECT_EQ(row["exposed_launches"], "4");
  EXPECT_EQ(row["first_loss"], "10.98");
  EXPECT_NEAR(std::stod(row["last_loss"]), 10.58, 1e-12);
  EXPECT_NEAR(std::stod(row["loss_difference"]), 0x1p-18, 1e-12);
}

TEST(Csv, LeavesOutWhatATrainingHasNot) {
  const std::string text = csv(RunSummary(trainings_and_others()));
  EXPECT_EQ(row_of(text, 1)["loss_difference"], "") << "the first variant is not held to itself";
  auto alone = row_of(text, 3);
  EXPECT_EQ(alone["strategy"], "none");
  EXPECT_EQ(alone["buckets"], "");
  EXPECT_EQ(alone["bucket_count"], "");
  for (const char* name : {"exposed_s", "exposed_low_s", "exposed_high_s", "exposed_launches"}) {
    EXPECT_EQ(alone[name], "") << name;
  }
  EXPECT_EQ(alone["steps_run"], "200");
  auto skipped = row_of(text, 4);
  EXPECT_THAT(skipped["skipped"], ::testing::HasSubstr("no link between"));
  EXPECT_EQ(skipped["steps"], "200");
  for (const char* name : {"steps_time_s", "steps_run", "steps_run_time_s", "first_loss"}) {
    EXPECT_EQ(skipped[name], "") << name;
  }
  auto reduce = row_of(text, 5);
  EXPECT_EQ(reduce["operation"], "all_reduce");
  for (const char* name : {"model_size", "steps", "batch", "dropout", "steps_run"}) {
    EXPECT_EQ(reduce[name], "") << name;
  }
}

TEST(Csv, NamesBucketsThatWereChosen) {
  Record record = page_record();
  record.cases[0].definition =
      parse_case_name("gpt2_step/fp32/gpt2/np2/buckets=legacy/bucket-mb=8");
  auto row = row_of(csv(RunSummary(record)), 1);
  EXPECT_EQ(row["buckets"], "legacy");
  EXPECT_EQ(row["bucket_mib"], "8");
  EXPECT_EQ(row["bucket_count"], "38");
  EXPECT_NEAR(std::stod(row["exposed_s"]), 0.0095, 1e-7) << "compared with the same step";
}

TEST(Csv, KeepsEveryDigit) {
  const double time = 1.0 / 3.0;
  Record record = one_case(time, 0.5, 1.4, 1.6);
  EXPECT_THAT(csv(RunSummary(record)), HasSubstr(",p2p,0.3333333333333333,"));
}

TEST(Csv, MarksWhatOthersMayHaveDisturbed) {
  Record record = one_case(3.0e-3, 36.0e-3, 11.9, 12.1);
  record.cases[0].variants[1].disturbed_samples = 3;
  record.cases[0].variants[1].level_shift = LevelShift{.launch = 0, .round = 2, .ratio = 1.25};
  EXPECT_EQ(row_of(csv(RunSummary(record)), 1)["disturbed_samples"], "") << "nobody looked";
  record.neighbours.emplace();
  EXPECT_EQ(row_of(csv(RunSummary(record)), 1)["disturbed_samples"], "0");
  EXPECT_EQ(row_of(csv(RunSummary(record)), 1)["level_change"], "");
  EXPECT_EQ(row_of(csv(RunSummary(record)), 2)["disturbed_samples"], "3");
  EXPECT_EQ(row_of(csv(RunSummary(record)), 2)["level_change"], "1.25");
}

TEST(Csv, CountsWrongElements) {
  EXPECT_THAT(csv(RunSummary(wrong_data_record())), HasSubstr(",host-memory,12,"));
}

}  // namespace
}  // namespace linkgain::test

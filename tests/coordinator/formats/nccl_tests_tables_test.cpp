#include "linkgain/formats/nccl_tests_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/compare/run_reader.hpp"
#include "linkgain/record/journal.hpp"
#include "programs/nccl_tests_table.hpp"
#include "support/golden.hpp"
#include "support/sample_records.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// h200_record() with an in-place half, a launch mode of its own below 1 MiB, and a gather.
Record mixed_record() {
  Record record = h200_record();
  record.cases[0].definition.launch = LaunchMode::graph;
  Case in_place = all_reduce(1 << 30);
  in_place.in_place = true;
  record.cases.push_back(nvlink_case(in_place, 3.28e-3, 39.1e-3, 11.8, 12.0));
  Case gather = all_reduce(1 << 20);
  gather.operation = OperationKind::all_gather;
  record.cases.push_back(nvlink_case(gather, 12.0e-6, 50.0e-6, 4.0, 4.2));
  return record;
}

TEST(NcclTestsTables, AreThoseOfNcclTests) {
  expect_golden(nccl_tests_tables(mixed_record(), {}), "nccl_tests.txt");
}

/// By the parser that reads what nccl-tests itself printed.
TEST(NcclTestsTables, AreParsedRowByRow) {
  const NcclTestsTable table = parse_nccl_tests_table(
      nccl_tests_tables(mixed_record(), {"host", {OperationKind::all_reduce}}));
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.rows[2].size.value, 1 << 30);
  EXPECT_EQ(table.rows[2].elements, 1 << 28);
  EXPECT_NEAR(table.rows[2].out_of_place.time.value, 39.0e-3, 1e-6);
  EXPECT_NEAR(table.rows[2].in_place.time.value, 39.1e-3, 1e-6);
  EXPECT_EQ(table.rows[2].out_of_place.wrong, 0);
  EXPECT_EQ(table.rows[0].in_place.wrong, std::nullopt);
}

TEST(NcclTestsTables, TellWrongData) {
  const std::string text = nccl_tests_tables(wrong_data_record(), {"host", {}});
  EXPECT_THAT(text, HasSubstr(" : 1 FAILED\n"));
  EXPECT_EQ(parse_nccl_tests_table(text).rows.back().out_of_place.wrong, 12);
}

/// At the same size by both launch modes: two tables, of which one says -G.
TEST(NcclTestsTables, KeepLaunchModesApart) {
  Record record = one_case(3.27e-3, 39.0e-3, 11.8, 12.0);
  record.cases.push_back(record.cases.front());
  record.cases.back().definition.launch = LaunchMode::graph;
  const std::string text = nccl_tests_tables(record, {});
  EXPECT_THAT(text, HasSubstr(" graph: 0 "));
  EXPECT_THAT(text, HasSubstr(" graph: 1 "));
}

TEST(NcclTestsTables, HaveEveryOperationOfAMeasuredRun) {
  const Record record = read_record(std::string(RESULTS_FOLDER) + "/2xH200-operations");
  const std::string text = nccl_tests_tables(record, {});
  for (const char* program : {"all_gather_perf", "reduce_scatter_perf", "broadcast_perf",
                              "reduce_perf", "alltoall_perf", "gather_perf", "scatter_perf"}) {
    EXPECT_THAT(text, HasSubstr(std::string("# Collective test starting: ") + program + "\n"));
  }
  EXPECT_THAT(text, HasSubstr("# Leaving out 3 "));
}

TEST(NcclTestsDocument, IsReadByCompare) {
  const Record record = mixed_record();
  const std::string text = nccl_tests_document(record, {"host", {OperationKind::all_gather}});
  const RunFigures figures = parse_run(text, "gather.json");
  EXPECT_EQ(figures.source, RunSource::nccl_tests);
  ASSERT_EQ(figures.cases.size(), 2U);
  EXPECT_EQ(figures.cases[1].time, std::nullopt) << "in place";
  EXPECT_EQ(figures.cases[0].name, "all_gather/float32/1MiB/np2");
  EXPECT_EQ(figures.cases[0].variant, "host");
  EXPECT_NEAR(figures.cases[0].time->value, 50.0e-6, 1e-12);
  EXPECT_EQ(figures.machine.software.nccl_library, record.machine.software.nccl_library);
}

TEST(NcclTestsDocument, RefusesSeveralTablesAndNone) {
  Situations refusals;
  refusals.refuse("several tables", [] { nccl_tests_document(mixed_record(), {}); });
  refusals.refuse("latencies alone", [] { nccl_tests_document(load_latency_record(), {}); });
  refusals.expect_golden("tables_refused.txt");
}

}  // namespace
}  // namespace linkgain::test

#include <gmock/gmock.h>

#include <fstream>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/json.hpp"
#include "linkgain/nccl_tests/nccl_tests.hpp"
#include "programs/nccl_tests_table.hpp"
#include "support/golden.hpp"
#include "support/program.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

NcclTestsTable recorded() {
  std::ifstream stream(RECORDED_NCCL_TESTS);
  return parse_nccl_tests_table({std::istreambuf_iterator<char>(stream), {}});
}

RankInfo h200(int rank, int pid, const std::string& pci_id) {
  RankInfo info;
  info.rank = rank;
  info.host = "vm.example.org";
  info.pid = pid;
  info.gpu.emplace();
  info.gpu->cuda_index = rank;
  info.gpu->name = "NVIDIA H200";
  info.gpu->pci_bus_id = pci_id;
  return info;
}

/// Reports what was recorded, as linkgain-bench would have measured it.
NcclTestsReport report_of_recorded() {
  NcclTestsReport report;
  report.program = "all_reduce_perf";
  report.options.smallest = Bytes{8};
  report.options.largest = Bytes{4LL << 30};
  report.options.factor = 2;
  Software& software = report.hello.machine.software;
  software.linkgain = "1.2.3";
  software.nccl_header = "2.28.3";
  software.nccl_library = "2.28.3";
  report.hello.machine.ranks = {h200(0, 1632, "00000000:00:06.0"),
                                h200(1, 1633, "00000000:00:07.0")};
  report.rows = recorded().rows;
  return report;
}

TEST(NcclTestsOutput, RowsAreTheRecordedOnesByteForByte) {
  const NcclTestsTable table = recorded();
  ASSERT_THAT(table.rows, SizeIs(30));
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    EXPECT_EQ(nccl_tests_line(table.rows[i]), table.lines[i] + "\n");
  }
}

TEST(NcclTestsOutput, HeadIsTheRecordedOneButForNameAndVersion) {
  std::vector<std::string> expected = recorded().head;
  EXPECT_EQ(expected[0], "# nccl-tests version 2.19.6 nccl-headers=22803 nccl-library=22803");
  expected[0] = "# linkgain-bench version 1.2.3 nccl-headers=22803 nccl-library=22803";
  EXPECT_EQ(lines_of(nccl_tests_head(report_of_recorded())), expected);
}

TEST(NcclTestsOutput, FootIsTheRecordedOne) {
  const std::vector<std::string> expected = recorded().foot;
  const std::string text = nccl_tests_foot(report_of_recorded());
  std::vector<std::string> foot = parse_nccl_tests_table(text).head;
  ASSERT_EQ(foot.size(), expected.size());
  // The recorded mean is of times before they were rounded.
  const std::string average = "# Avg bus bandwidth    : ";
  ASSERT_TRUE(expected[1].starts_with(average));
  ASSERT_TRUE(foot[1].starts_with(average)) << foot[1];
  EXPECT_TRUE(foot[1].ends_with(" "));
  EXPECT_NEAR(std::stod(foot[1].substr(average.size())),
              std::stod(expected[1].substr(average.size())), 0.005);
  foot[1] = expected[1];
  EXPECT_EQ(foot, expected);
}

TEST(NcclTestsOutput, NumbersLoseDecimalsUntilTheyFit) {
  NcclTestsRow row{Bytes{1LL << 40}, 1LL << 38, "float", "none", 3};
  row.out_of_place = {Seconds{99.999996e-3}, 999.996, 123456.7, 1234567};
  row.in_place = {Seconds{12.345678}, 1234567.0, 0.004, std::nullopt};
  EXPECT_EQ(nccl_tests_line(row),
            "1099511627776  274877906944     float    none       3"
            "   100000  1000.0  123457  1.23457e+06  1.2e+07   1e+06    0.00    N/A\n");
}

/// Writes what was not checked as nccl-tests does, one column narrower than a count: two blanks and
/// " N/A" with one more in front.
TEST(NcclTestsOutput, WhatWasNotCheckedHasTheCellOfNcclTests) {
  NcclTestsRow row{Bytes{64}, 16, "float", "sum", -1};
  row.out_of_place = row.in_place = {Seconds{5.03e-6}, 0.01, 0.01, std::nullopt};
  EXPECT_EQ(nccl_tests_line(row),
            "          64            16     float     sum      -1"
            "     5.03    0.01    0.01    N/A     5.03    0.01    0.01    N/A\n");
}

TEST(NcclTestsOutput, TimeIsOneOfTheRanksOrTheirMean) {
  const std::vector<double> times{3.0, 1.0, 5.0};
  EXPECT_EQ(nccl_tests_time(NcclTestsTime::of_rank_0, times).value, 3.0);
  EXPECT_EQ(nccl_tests_time(NcclTestsTime::mean, times).value, 3.0);
  EXPECT_EQ(nccl_tests_time(NcclTestsTime::least, times).value, 1.0);
  EXPECT_EQ(nccl_tests_time(NcclTestsTime::most, times).value, 5.0);
}

TEST(NcclTestsOutput, FootTellsWrongDataAndTooLittleBandwidth) {
  NcclTestsReport report = report_of_recorded();
  report.failed_checks = 2;
  report.options.least_bandwidth_gb_per_s = 200.0;
  Situations situations;
  situations.add("2 failed checks, less bandwidth than asked for", nccl_tests_foot(report));
  report.options.least_bandwidth_gb_per_s = 110.0;
  EXPECT_FALSE(is_below_least_bandwidth(report)) << "106 is within a tenth";
  situations.add("2 failed checks, bandwidth as asked for", nccl_tests_foot(report));
  expect_golden(situations.text(), "foot.txt");
}

TEST(NcclTestsOutput, WithoutGpusTheHeadSaysWhatWasMeasured) {
  NcclTestsReport report;
  report.hello.backend = BackendKind::mpi;
  report.hello.machine.software.mpi = "Open MPI v4.1.4";
  report.hello.machine.ranks.resize(1);
  report.hello.machine.ranks[0].host = "vm";
  report.notes = {"Reducing"};
  expect_golden(nccl_tests_head(report), "head_without_gpus.txt");
}

TEST(NcclTestsOutput, TextOfOthersBeginsNoLineOfTheHead) {
  NcclTestsReport report = report_of_recorded();
  report.notes = {"From a record"};
  const std::size_t lines = lines_of(nccl_tests_head(report)).size();
  report.notes[0] += "\n::error::";
  Machine& machine = report.hello.machine;
  machine.software.linkgain = machine.software.mpi = "1\n::error::";
  ASSERT_TRUE(machine.ranks.at(0).gpu);
  machine.ranks[0].host = machine.ranks[0].gpu->name = "a\n::error::";
  EXPECT_EQ(lines_of(nccl_tests_head(report)).size(), lines);
  machine.software.nccl_header.reset();
  machine.ranks[0].gpu.reset();
  EXPECT_EQ(lines_of(nccl_tests_head(report)).size(), lines);
}

std::vector<std::string> keys(const nlohmann::ordered_json& object) {
  std::vector<std::string> names;
  for (const auto& item : object.items()) names.push_back(item.key());
  return names;
}

TEST(NcclTestsJson, HasTheStructureOfNcclTests) {
  NcclTestsReport report = report_of_recorded();
  report.rows[0].in_place.wrong.reset();
  report.hello.environment = {{"NCCL_ALGO", "Ring"}};
  const auto document = nlohmann::ordered_json::parse(nccl_tests_json(report, "then"));
  EXPECT_THAT(keys(document), ElementsAre("version", "start_time", "args", "env", "nccl_version",
                                          "config", "results", "out_of_bounds",
                                          "average_bus_bandwidth", "errors", "end_time"));
  EXPECT_EQ(document["version"], 3);
  EXPECT_EQ(document["nccl_version"], 22803);
  EXPECT_THAT(document["env"], ElementsAre("NCCL_ALGO=Ring"));
  EXPECT_THAT(keys(document["config"]),
              ElementsAre("nthreads", "ngpus", "minimum_bytes", "maximum_bytes", "step_factor",
                          "warmup_iters", "iterations", "aggregated_iterations", "validation",
                          "graph", "blocking_collectives", "per_iter_timing", "per_iter_skip",
                          "parallel_init", "devices"));
  EXPECT_EQ(document["config"]["devices"][1].dump(),
            R"({"rank":1,"group":0,"pid":1633,"hostname":"vm","device":1,)"
            R"("device_hex":"0000:00:07","device_info":"NVIDIA H200"})");
  ASSERT_THAT(document["results"], SizeIs(30));
  const auto& row = document["results"][0];
  EXPECT_THAT(keys(row), ElementsAre("size", "count", "type", "redop", "root", "out_of_place",
                                     "in_place", "actual_iterations", "experiment_name"));
  EXPECT_EQ(row["root"], "    -1");
  EXPECT_THAT(keys(row["in_place"]), ElementsAre("time", "alg_bw", "bus_bw", "nwrong"));
  EXPECT_NEAR(row["in_place"]["time"].get<double>(), 6.55, 1e-9);
  EXPECT_TRUE(row["in_place"]["nwrong"].is_null());
  EXPECT_EQ(row["out_of_place"]["nwrong"], 0.0);
  EXPECT_EQ(document["out_of_bounds"].dump(), R"({"count":0,"okay":"true"})");
  EXPECT_EQ(document["average_bus_bandwidth"]["okay"], "unchecked");
}

TEST(NcclTestsFile, GetsANumberWhereThereIsOne) {
  const ScratchFolder folder;
  const std::string path = folder / "out.json";
  NcclTestsFile first(path);
  first.write("1");
  NcclTestsFile second(path);
  second.write("2");
  EXPECT_EQ(second.name(), path + ".0");
  EXPECT_EQ(NcclTestsFile(path).name(), path + ".1");
  EXPECT_EQ(read_text(path), "1");
  EXPECT_EQ(read_text(path + ".0"), "2");
  EXPECT_THROW(NcclTestsFile(folder / "none" / "out.json"), UsageError);
}

}  // namespace
}  // namespace linkgain::test

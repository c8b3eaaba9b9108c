#include "linkgain/compare/run_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "linkgain/base/errors.hpp"
#include "support/full_record.hpp"
#include "support/golden.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::SizeIs;

/// Reads a document as nccl-tests writes it.
std::string document(const std::string& file) {
  std::ifstream stream(std::string(TEST_DATA) + "/" + file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string refusal(const std::string& text) {
  return refusal_of<UsageError>([&] { parse_run(text, "file.json"); });
}

TEST(RunReader, TakesRecords) {
  const RunFigures run = parse_run(to_json(full_record()), "r.json");
  EXPECT_EQ(run.source, RunSource::record);
  EXPECT_THAT(run.cases, SizeIs(6));
  EXPECT_EQ(read_run(RESULTS_FOLDER "/2xH200-all_reduce-1").cases.size(), 56U);
}

TEST(RunReader, TakesNcclTests) {
  const RunFigures run = parse_run(document("nccl_tests.json"), "n.json");
  EXPECT_EQ(run.source, RunSource::nccl_tests);
  EXPECT_EQ(run.settings.backend, BackendKind::nccl);
  EXPECT_EQ(run.machine.software.nccl_library, "2.28.3");
  EXPECT_EQ(describe_ranks(run.machine), "2 x NVIDIA H200");
  ASSERT_THAT(run.cases, SizeIs(2));
  EXPECT_EQ(run.cases[0].name, "all_reduce/float32/sum/1MiB/np2");
  EXPECT_EQ(run.cases[0].variant, "p2p");
  EXPECT_THAT(run.cases[0].time->value, DoubleNear(15.5e-6, 1e-15));
  EXPECT_EQ(run.cases[1].name, "all_reduce/float32/sum/1MiB/np2/inplace");
  EXPECT_EQ(run.cases[1].no_time, "wrong data: 3 elements");
  EXPECT_THAT(run.settings.environment_in_force, ElementsAre(Environment{{"NCCL_DEBUG", "INFO"}}));
}

TEST(RunReader, TellsOperationsOfNcclTestsByTheProgram) {
  const std::string text = document("nccl_tests.json");
  const auto renamed = [&](const std::string& program) {
    std::string other = text;
    other.replace(other.find("./build/all_reduce_perf"), 23, program);
    return other;
  };
  EXPECT_EQ(parse_run(renamed("sendrecv_perf"), "n").cases.at(0).name,
            "send_recv/float32/1MiB/np2");
  EXPECT_EQ(parse_run(renamed("linkgain-bench"), "n").cases.at(0).name,
            "all_reduce/float32/sum/1MiB/np2");
  std::string gather = renamed("linkgain-bench\", \"--only=all_gather");
  gather = with_replaced(gather, "\"bus_bw\": 67.6", "\"bus_bw\": 33.8");
  gather = with_replaced(gather, "\"bus_bw\": 68.8", "\"bus_bw\": 34.4");
  EXPECT_EQ(parse_run(gather, "n").cases.at(0).name, "all_gather/float32/1MiB/np2");
}

std::vector<std::string> case_names(const std::string& text) {
  std::vector<std::string> names;
  for (const CaseFigures& figures : parse_run(text, "file.json").cases) {
    names.push_back(figures.name);
  }
  return names;
}

TEST(RunReader, TakesRootGraphAndBuffersOfNcclTests) {
  const std::string tests = document("nccl_tests.json");
  const std::string rooted = with_replaced(tests, "all_reduce_perf", "broadcast_perf");
  EXPECT_THAT(case_names(with_replaced(rooted, "    -1", "     1")),
              ElementsAre("broadcast/float32/1MiB/np2/root=1",
                          "broadcast/float32/1MiB/np2/inplace/root=1"));
  EXPECT_THAT(case_names(with_replaced(rooted, "\"    -1\"", "1")),
              Contains("broadcast/float32/1MiB/np2/root=1"));
  EXPECT_THAT(case_names(with_replaced(rooted, "\"    -1\"", "null")),
              Contains("broadcast/float32/1MiB/np2"));
  EXPECT_THAT(case_names(with_replaced(tests, "\"graph\": 0", "\"graph\": 2")),
              Contains("all_reduce/float32/sum/1MiB/np2/graph"));
  EXPECT_THAT(case_names(with_replaced(tests, "\"-b\"", "\"-R\", \"1\", \"-b\"")),
              Contains("all_reduce/float32/sum/1MiB/np2/registered"));
  EXPECT_THAT(case_names(with_replaced(tests, "\"in_place\"", "\"elsewhere\"")),
              ElementsAre("all_reduce/float32/sum/1MiB/np2"));
}

TEST(RunReader, SaysWhatNcclTestsDidNotMeasure) {
  const std::string tests = document("nccl_tests.json");
  const auto first = [&](const std::string& time) {
    return parse_run(with_replaced(tests, "\"time\": 15.5", "\"time\": " + time), "n").cases.at(0);
  };
  for (const char* time : {"-1", "0", "null", "\"fast\""}) {
    EXPECT_EQ(first(time).no_time, "not measured") << time;
    EXPECT_FALSE(first(time).time) << time;
  }
  EXPECT_EQ(first("15.51").no_time, "");
  const RunFigures unchecked =
      parse_run(with_replaced(tests, "\"nwrong\": 3", "\"nwrong\": null"), "n");
  EXPECT_EQ(unchecked.cases.at(1).no_time, "") << "nobody looked";
}

TEST(RunReader, KeepsTheVariablesThatMatter) {
  const std::string text =
      with_replaced(document("nccl_tests.json"), "\"PATH=/bin\"",
                    "\"PATH=/bin\", \"NCCL_ALGO\", \"NCCL_PROTO=a=b\", \"OMPI_MCA_pml=ob1\", "
                    "\"OMPI_MCA_ras=^slurm\", \"CUDA_VISIBLE_DEVICES=0,1\"");
  EXPECT_THAT(parse_run(text, "n").settings.environment_in_force,
              ElementsAre(Environment{{"CUDA_VISIBLE_DEVICES", "0,1"},
                                      {"NCCL_DEBUG", "INFO"},
                                      {"NCCL_PROTO", "a=b"},
                                      {"OMPI_MCA_pml", "ob1"}}));
}

TEST(RunReader, SaysWhatItDoesNotKnow) {
  Situations refusals;
  const auto add = [&](const std::string& situation, const std::string& text) {
    refusals.add(situation, refusal(text));
  };
  for (const char* text : {"{\"a\": 1}", "[1]", "{\"a\": ", "{\"schema\": \"linkgain.topology/1\"}",
                           "{\"context\": {\"linkgain\": \"0.1.0\"}, \"benchmarks\": [{}]}"}) {
    add(text, text);
  }
  add("a newer record",
      with_replaced(to_json(full_record()), "linkgain.record/2", "linkgain.record/3"));
  const std::string program = "./build/all_reduce_perf";
  const std::string tests = document("nccl_tests.json");
  add("two operations of linkgain-bench",
      with_replaced(tests, program, "linkgain-bench\", \"--only=all_gather,reduce"));
  add("a program of nccl-tests that is not known", with_replaced(tests, program, "hypercube_perf"));
  add("no program of nccl-tests", with_replaced(tests, "\"./build/all_reduce_perf\", ", ""));
  add("an operation that is none",
      with_replaced(tests, program, "linkgain-bench\", \"--only\", \"all_reduc"));
  add("a size below zero", with_replaced(tests, "\"size\": 1048576", "\"size\": -1"));
  add("a size beyond the largest",
      with_replaced(tests, "\"size\": 1048576", "\"size\": 70368744177668"));
  add("a size that is no number", with_replaced(tests, "\"size\": 1048576", "\"size\": \"1M\""));
  add("a type that is none", with_replaced(tests, "\"float\"", "\"real\""));
  add("a number out of range", "{\"a\": 1e999}");
  add("a member twice", "{\"a\": 1, \"a\": 2}");
  const std::size_t devices = tests.find("\"devices\": [") + 12;
  std::string none = tests;
  none.erase(devices, none.find("]}", devices) - devices);
  add("no device", none);
  expect_golden(refusals.text(), "refused_documents.txt");
  EXPECT_THROW(read_run("/nowhere/at-all.json"), UsageError);
}

/// Covers the first records, which lack what later versions added.
TEST(RunReader, ReadsRecordsFromBeforeMembersWereAdded) {
  std::string text = to_json(full_record());
  for (const std::string member : {"\"ancestor\": \"PXB\"", "\"require_healthy\": true",
                                   "\"label\": \"before\"", "\"digest\": \""}) {
    const std::size_t begin = text.find(member);
    ASSERT_NE(begin, std::string::npos) << member;
    const std::size_t comma = text.rfind(',', begin);
    text.erase(comma, text.find_first_of(",\n}", begin) - comma);
  }
  EXPECT_THAT(parse_run(text, "r.json").cases, SizeIs(6));
}

TEST(RunReader, TakesFromSamplesWhatTheyGive) {
  Record record = full_record();
  record.cases[0].variants[0].health.unhealthy_samples = 0;
  for (Sample& sample : record.cases[0].samples) sample.health[0].clock_event_reasons = 0x40;
  const RunFigures run = parse_run(to_json(record), "r.json");
  EXPECT_EQ(run.cases.at(0).health.unhealthy_samples, 16);
  EXPECT_EQ(run.cases.at(0).disturbance.samples, 2);
}

}  // namespace
}  // namespace linkgain::test

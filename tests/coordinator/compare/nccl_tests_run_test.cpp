#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "compared_runs.hpp"
#include "comparison_parts.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/compare/run_comparison.hpp"
#include "linkgain/compare/run_reader.hpp"
#include "support/golden.hpp"
#include "support/launch_records.hpp"
#include "support/situations.hpp"

/// What nccl-tests wrote, from its files to the verdict.
namespace linkgain::test {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

std::string nccl_tests_document() {
  std::ifstream stream(std::string(TEST_DATA) + "/nccl_tests.json", std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Changes the time out of place of the row of 1 MiB, and its bandwidth.
std::string with_time(const std::string& text, double microseconds) {
  const double bandwidth = 1048576 / microseconds / 1e3;
  return replaced(text, R"("time": 15.5, "alg_bw": 67.6, "bus_bw": 67.6)",
                  fmt::format(R"("time": {:.6f}, "alg_bw": {:.6f}, "bus_bw": {:.6f})", microseconds,
                              bandwidth, bandwidth));
}

/// Returns what linkgain-bench writes where no GPU is.
std::string cpu_memory_document(double microseconds = 15.5) {
  std::string text = nccl_tests_document();
  text = replaced(text, "all_reduce_perf", "linkgain-bench");
  text = replaced(text, "22803", "null");
  text = with_time(text, microseconds);
  for (const std::string device : {"0", "1"}) {
    text = replaced(text, "\"device\": " + device, "\"device\": null");
    text = replaced(text, "NVIDIA H200", "CPU memory");
  }
  return text;
}

CaseComparison first_case(const RunFigures& before, const RunFigures& after) {
  return compare_runs(before, after, {}).cases.at(0);
}

/// Writes the cautions of a comparison with the document before it was changed.
std::string cautions_after(const std::string& changed) {
  const RunFigures before = parse_run(nccl_tests_document(), "old.json");
  const RunFigures after = parse_run(changed, "new.json");
  std::string said;
  for (const Warning& each : cautions_of(compare_runs(before, after, {}))) {
    if (each.code == name_of(WarningCode::one_launch)) continue;
    said += each.code + ": " + each.text + "\nAdvice: " + each.advice + "\n";
  }
  return said;
}

TEST(NcclTestsFiles, SayTheSettingsThatTimesDependOn) {
  Situations cautions;
  const auto add = [&](const std::string& setting, const std::string& by) {
    cautions.add(by, cautions_after(replaced(nccl_tests_document(), setting, by)));
  };
  add(R"("iterations": 20)", R"("iterations": 20)");
  add(R"("blocking_collectives": "false")", R"("blocking_collectives": "true")");
  add(R"("aggregated_iterations": 1,)", R"("aggregated_iterations": 10,)");
  add(R"("aggregated_iterations": 1,)", R"("aggregated": 10,)");
  add(R"("warmup_iters": 1, "iterations": 20)", R"("warmup_iters": 5, "iterations": 100)");
  add(R"("graph": 0)", R"("graph": 4)");
  add(R"("minimum_bytes": 1048576)", R"("minimum_bytes": 8)");
  cautions.expect_golden("nccl_tests_settings.txt");
}

TEST(NcclTestsFiles, OfSendsHaveNoneInPlace) {
  const auto cases = [](const std::string& text) {
    std::vector<std::string> names;
    for (const CaseFigures& figures : parse_run(text, "sends.json").cases) {
      names.push_back(figures.name);
    }
    return names;
  };
  EXPECT_THAT(cases(replaced(nccl_tests_document(), "all_reduce_perf", "sendrecv_perf")),
              ElementsAre("send_recv/float32/1MiB/np2"))
      << "NCCL has no such form, though nccl-tests times it";
  EXPECT_THAT(cases(replaced(cpu_memory_document(), "\"-b\"", "\"--only\", \"send_recv\", \"-b\"")),
              ElementsAre("send_recv/float32/1MiB/np2"));
}

TEST(NcclTestsFiles, SayTheKindOfBuffersInAnyFormOfTheFlag) {
  const std::vector<std::string> forms{R"("-R", "2")", R"("-R2")", R"("--local_register", "2")",
                                       R"("--loc=2")", R"("-R", "1", "--local_register=2")"};
  for (const std::string& form : forms) {
    const std::string text = replaced(nccl_tests_document(), "\"-b\"", form + ", \"-b\"");
    EXPECT_EQ(parse_run(text, "of_windows.json").cases.at(0).name,
              "all_reduce/float32/sum/1MiB/np2/symmetric")
        << form;
  }
}

TEST(NcclTestsComparison, GivesAdviceThatCanBeFollowed) {
  RunFigures own = two_titans("r.json", true);
  own.cases = {timed("all_reduce/float32/sum/1MiB/np2", "p2p", {1.0})};
  Situations cautions;
  const auto add = [&](const std::string& situation, const RunFigures& before,
                       const RunFigures& after) {
    const Warning caution = cautions_of(compare_runs(before, after, {})).at(0);
    EXPECT_EQ(caution.code, "one-launch");
    cautions.add(situation, caution.text + "\nAdvice: " + caution.advice);
  };
  add("a record and nccl-tests", own, parse_run(nccl_tests_document(), "n.json"));
  add("both of CPU memory", parse_run(cpu_memory_document(), "before.json"),
      parse_run(cpu_memory_document(7.75), "after.json"));
  expect_golden(cautions.text(), "nccl_tests_cautions.txt");
}

/// Learns next to nothing from one launch each: CPUs share their time with all else.
TEST(NcclTestsComparison, AssumesNoDeviationOfGpusInCpuMemory) {
  const RunFigures before = parse_run(cpu_memory_document(), "before.json");
  EXPECT_EQ(before.settings.backend, BackendKind::mpi);
  const RunFigures after = parse_run(cpu_memory_document(7.75), "after.json");
  EXPECT_EQ(first_case(before, after).verdict, Verdict::inconclusive);
}

TEST(NcclTestsVariants, AreThoseOfTheBackend) {
  const std::string cpu = cpu_memory_document();
  const auto variant = [](const std::string& text) {
    return parse_run(text, "file.json").cases.at(0).variant;
  };
  EXPECT_EQ(variant(cpu), "mpi");
  const auto with = [&](const std::string& variable) {
    return replaced(cpu, "NCCL_DEBUG=INFO", variable);
  };
  EXPECT_EQ(variant(with("OMPI_MCA_btl=self,vader")), "shared-memory");
  EXPECT_EQ(variant(with("OMPI_MCA_btl=self,tcp")), "tcp");
  EXPECT_EQ(variant(with("OMPI_MCA_btl=^openib")), "mpi");
  EXPECT_EQ(variant(with("NCCL_P2P_DISABLE=1")), "mpi");
  EXPECT_EQ(variant(replaced(nccl_tests_document(), "NCCL_DEBUG=INFO", "NCCL_P2P_DISABLE=1")),
            "host");
}

TEST(NcclTestsTimes, ThatCannotBeAreRefused) {
  const auto refusal = [](const std::string& text) {
    return thrown_by([&] { parse_run(text, "file.json"); });
  };
  for (const char* time : {"5e-324", "1e-300", "1.7e308"}) {
    const std::string own = fmt::format("\"time\": {}", time);
    EXPECT_THAT(refusal(replaced(nccl_tests_document(), "\"time\": 15.5", own)),
                HasSubstr("us cannot be"))
        << time;
  }
}

/// Counts nccl-tests' -N once: several times, launches would look more alike than they are.
TEST(NcclTestsFiles, OfSeveralCyclesAreOneLaunch) {
  std::string text = replaced(nccl_tests_document(), "\"nwrong\": 3", "\"nwrong\": 0");
  const std::size_t begin = text.find("{\"size\"");
  const std::size_t end = text.find("}]", begin) + 1;
  const std::string row = text.substr(begin, end - begin);
  text.insert(end, fmt::format(", {}, {}", with_time(row, 17.5), with_time(row, 16.5)));
  const RunFigures one = parse_run(text, "cycles.json");
  ASSERT_THAT(one.cases, SizeIs(2));
  EXPECT_THAT(one.cases[0].time->value, DoubleNear(16.5e-6, 1e-15)) << "the median";
  EXPECT_THAT(one.cases[0].launches, SizeIs(1));
  const std::string wrong = replaced(text, "\"nwrong\": 0", "\"nwrong\": 2");
  const RunFigures spoilt = parse_run(wrong, "wrong.json");
  ASSERT_THAT(spoilt.cases, SizeIs(2));
  EXPECT_FALSE(spoilt.cases[0].time);
  EXPECT_THAT(spoilt.cases[0].no_time, HasSubstr("wrong data"));
}

/// As nccl-tests writes it: an entry in devices for each process, which is of its first rank, and
/// bandwidths by the factor of the operation.
struct Shape {
  std::string program = "all_reduce_perf";
  int threads = 1;
  int gpus = 1;  ///< of each thread
  int processes = 1;
  double factor = 1.0;      ///< bus bandwidth over algorithm bandwidth
  int other_processes = 0;  ///< of another group
};

std::string document_of(const Shape& shape) {
  std::vector<std::string> devices;
  const int ranks = shape.threads * shape.gpus;
  for (int process = 0; process < shape.processes + shape.other_processes; ++process) {
    devices.push_back(
        fmt::format(R"({{"rank": {0}, "group": {1}, "pid": 1, "hostname": "box{0}", "device": 0,)"
                    R"( "device_hex": "0000:06:00", "device_info": "NVIDIA H200"}})",
                    process * ranks, process < shape.processes ? 0 : 1));
  }
  const double algorithm = 1048576 / 20e-6 / 1e9;
  const std::string result =
      fmt::format(R"({{"time": 20.000000, "alg_bw": {:.6f}, "bus_bw": {:.6f}, "nwrong": 0}})",
                  algorithm, algorithm * shape.factor);
  return fmt::format(
      R"({{"version": 3, "start_time": "now", "args": ["./{}"], "env": [], "nccl_version": 22809,)"
      R"( "config": {{"nthreads": {}, "ngpus": {}, "graph": 0, "devices": [{}]}}, "results": [)"
      R"({{"size": 1048576, "count": 262144, "type": "float", "redop": "sum", "root": "     0",)"
      R"( "out_of_place": {}, "in_place": null}}]}})",
      shape.program, shape.threads, shape.gpus, fmt::join(devices, ", "), result);
}

/// Multiplies threads and GPUs: an entry in devices is a process.
TEST(NcclTestsRanks, AreThoseOfEveryThreadOfEveryProcess) {
  const auto ranks = [](const Shape& shape) {
    const RunFigures run = parse_run(document_of(shape), "file.json");
    EXPECT_EQ(run.machine.ranks.size(), static_cast<std::size_t>(run.cases.at(0).definition.ranks));
    EXPECT_DOUBLE_EQ(*run.cases.at(0).busbw, *run.cases.at(0).algbw * shape.factor);
    return run.cases.at(0).name;
  };
  EXPECT_EQ(ranks({.gpus = 8, .factor = 1.75}), "all_reduce/float32/sum/1MiB/np8");
  EXPECT_EQ(ranks({.threads = 4, .factor = 1.5}), "all_reduce/float32/sum/1MiB/np4");
  EXPECT_EQ(ranks({.threads = 2, .gpus = 4, .factor = 1.75}), "all_reduce/float32/sum/1MiB/np8");
  EXPECT_EQ(ranks({.gpus = 8, .processes = 2, .factor = 1.875}),
            "all_reduce/float32/sum/1MiB/np16");
  EXPECT_EQ(ranks({.gpus = 2, .processes = 2, .factor = 1.5, .other_processes = 6}),
            "all_reduce/float32/sum/1MiB/np4")
      << "NCCL_TESTS_SPLIT: the rows are of the first group";
  const RunFigures run = parse_run(document_of({.gpus = 8, .factor = 1.75}), "file.json");
  EXPECT_EQ(describe_ranks(run.machine), "8 x NVIDIA H200");
  EXPECT_EQ(run.machine.ranks[7].gpu->cuda_index, 7);
  for (const Shape& shape :
       {Shape{.threads = 0}, Shape{.gpus = -1}, Shape{.threads = 1024, .gpus = 2},
        Shape{.gpus = 512, .processes = 3}, Shape{.processes = 0}}) {
    EXPECT_THAT(thrown_by([&] { parse_run(document_of(shape), "file.json"); }),
                HasSubstr("1 to 1024 can be"));
  }
}

struct Factor {
  std::string program;
  double of_eight;  ///< ranks
};

/// Follows nccl-tests' PERFORMANCE.md; it wrote no file with the factor of other ranks.
TEST(NcclTestsBandwidth, IsThatOfTimeSizeAndRanks) {
  const auto refusal = [](const Shape& shape) {
    return thrown_by([&] { parse_run(document_of(shape), "file.json"); });
  };
  const std::vector<Factor> factors{
      {"all_reduce_perf", 1.75}, {"all_gather_perf", 0.875}, {"reduce_scatter_perf", 0.875},
      {"broadcast_perf", 1.0},   {"reduce_perf", 1.0},       {"alltoall_perf", 0.875},
      {"gather_perf", 0.875},    {"scatter_perf", 0.875},    {"sendrecv_perf", 1.0}};
  for (const Factor& each : factors) {
    Shape shape{.program = each.program, .gpus = 8, .factor = each.of_eight};
    EXPECT_EQ(refusal(shape), "nothing") << each.program;
    shape.factor *= 1.0 - 0.9e-3;
    EXPECT_EQ(refusal(shape), "nothing") << each.program << ", of figures with fewer digits";
    for (const double other : {0.99, 1.01, 0.5, 0.0}) {
      shape.factor = each.of_eight * other;
      EXPECT_THAT(refusal(shape), HasSubstr("8 ranks")) << each.program;
    }
  }
}

TEST(NcclTestsRanks, ThatDifferAreSaid) {
  const RunFigures two = parse_run(document_of({.gpus = 2, .factor = 1.0}), "two.json");
  const RunFigures eight = parse_run(document_of({.gpus = 8, .factor = 1.75}), "eight.json");
  const std::vector<Warning> cautions = cautions_of(compare_runs(two, eight, {}));
  EXPECT_TRUE(std::ranges::any_of(
      cautions, [](const Warning& caution) { return caution.code == "other-ranks"; }));
}

}  // namespace
}  // namespace linkgain::test

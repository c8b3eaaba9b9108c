
#include "programs.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

/// linkgain-bench as the Google Benchmark program that it is under mpirun.
class BenchProgram : public MpiTest {};

TEST_F(BenchProgram, ListsCaseNamesAndNothingElse) {
  const Outcome outcome =
      with_status(0, run_program(bench(2, {"--benchmark_list_tests", "--sizes", "64,64K"})));
  EXPECT_THAT(lines_of(outcome.output),
              ElementsAre("all_reduce/float32/sum/64B/np2", "all_reduce/float32/sum/64KiB/np2",
                          "send_recv/float32/64B/np2", "send_recv/float32/64KiB/np2"));
  EXPECT_THAT(outcome.error, IsEmpty());
  const Words usual =
      lines_of(run_program(bench(2, {"--benchmark_list_tests", "--only", "all_reduce"})).output);
  EXPECT_EQ(usual.back(), "all_reduce/float32/sum/64MiB/np2") << "of CPU memory not 1 GiB";
}

TEST_F(BenchProgram, FiltersByNameBothWays) {
  const Words all{"--benchmark_list_tests", "--sizes", "64,64K"};
  auto with = [&](const std::string& filter) {
    Words arguments = all;
    arguments.push_back("--benchmark_filter=" + filter);
    return lines_of(run_program(bench(2, arguments)).output);
  };
  EXPECT_THAT(with("recv.*/64B"), ElementsAre("send_recv/float32/64B/np2"));
  EXPECT_THAT(with("-64B|send"), ElementsAre("all_reduce/float32/sum/64KiB/np2"));
}

TEST_F(BenchProgram, JsonOnStandardOutputHasConsistentCounters) {
  const Outcome outcome = with_status(
      0, run_program(quick_bench(4, {"--sizes", "64K,256K", "--benchmark_format=json"})));
  const Json document = Json::parse(outcome.output);
  EXPECT_THAT(document.at("context").at("machine"), HasSubstr("4 ranks"));
  ASSERT_THAT(document.at("benchmarks"), SizeIs(4));
  for (const Json& run : document.at("benchmarks")) {
    const std::string name = run.at("name");
    const double size = name.find("/64KiB/") != std::string::npos ? 65536 : 262144;
    const double factor = name.starts_with("all_reduce") ? 2.0 * 3 / 4 : 1.0;
    const double seconds = run.at("real_time").get<double>() * 1e-6;
    EXPECT_EQ(run.at("time_unit"), "us");
    EXPECT_GT(seconds, 0.0) << name;
    EXPECT_NEAR(run.at("latency_us").get<double>() * 1e-6 / seconds, 1.0, 1e-9) << name;
    EXPECT_NEAR(run.at("algbw").get<double>() / (size / seconds / 1e9), 1.0, 1e-9) << name;
    EXPECT_NEAR(run.at("busbw").get<double>() / (size * factor / seconds / 1e9), 1.0, 1e-9) << name;
  }
}

TEST_F(BenchProgram, RepetitionsComeWithAggregatesUnderTheCaseName) {
  const Outcome outcome = with_status(
      0, run_program(quick_bench(2, {"--only", "all_reduce", "--sizes", "64K",
                                     "--benchmark_repetitions=3", "--benchmark_format=json"})));
  Words names;
  const Json runs = Json::parse(outcome.output).at("benchmarks");
  for (const Json& run : runs) names.push_back(run.at("name"));
  const std::string name = "all_reduce/float32/sum/64KiB/np2";
  EXPECT_THAT(names, ElementsAre(name, name, name, name + "_mean", name + "_median",
                                 name + "_stddev", name + "_cv"));
}

TEST_F(BenchProgram, RunsAsLongAsAskedFor) {
  auto iterations = [](const std::string& seconds) {
    const Outcome outcome =
        run_program(bench(2, {"--only", "send_recv", "--sizes", "64K", "--benchmark_format=json",
                              "--benchmark_min_time=" + seconds}));
    const Json run = Json::parse(outcome.output).at("benchmarks").at(0);
    return run.at("iterations").get<double>() * run.at("real_time").get<double>() * 1e-6;
  };
  EXPECT_GE(iterations("0.3"), 0.3);
  EXPECT_LT(iterations("0.01"), 0.3);
}

TEST_F(BenchProgram, BatchesAreAsLongAsAskedFor) {
  auto operations = [](const std::string& seconds) {
    const Outcome outcome =
        run_program(bench(2, {"--only", "send_recv", "--sizes", "64K", "--benchmark_format=json",
                              "--benchmark_min_time=0.0001", "--sample", seconds}));
    return Json::parse(outcome.output).at("benchmarks").at(0).at("iterations").get<double>();
  };
  // Others that work on the processors may slow one of the two down.
  bool longer = false;
  for (int attempt = 0; attempt < 4 && !longer; ++attempt) {
    longer = operations("0.1") > 4 * operations("0.001");
  }
  EXPECT_TRUE(longer) << "one batch each";
}

TEST_F(BenchProgram, WritesTheFileAskedForBesideTheTable) {
  const ScratchFolder folder;
  for (const std::string format : {"json", "csv"}) {
    const std::string file = folder / ("out." + format);
    const Outcome outcome = run_program(
        quick_bench(2, {"--only", "all_reduce", "--sizes", "64K", "--benchmark_out=" + file,
                        "--benchmark_out_format=" + format}));
    ASSERT_EQ(outcome.status, 0) << outcome.error;
    EXPECT_THAT(outcome.output, HasSubstr("latency_us\n"));
    EXPECT_THAT(outcome.output, HasSubstr("\nall_reduce/float32/sum/64KiB/np2 "));
  }
  const Json document = Json::parse(read_text(folder / "out.json"));
  EXPECT_THAT(document.at("benchmarks"), SizeIs(1));
  const Words rows = lines_of(read_text(folder / "out.csv"));
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_THAT(rows[0], StartsWith("name,iterations,real_time,"));
  EXPECT_THAT(rows[0], HasSubstr("\"busbw\""));
  EXPECT_THAT(rows[1], StartsWith("\"all_reduce/float32/sum/64KiB/np2\","));
}

TEST_F(BenchProgram, TakesOptionsFromGoogleBenchmarksVariables) {
  const ScratchFolder folder;
  const std::string file = folder / "out.csv";
  ProgramRequest request = quick_bench(2, {"--only", "all_reduce", "--sizes", "64K,128K"});
  request.environment["BENCHMARK_OUT"] = file;
  request.environment["BENCHMARK_OUT_FORMAT"] = "csv";
  request.environment["BENCHMARK_FILTER"] = "128KiB";
  const Outcome outcome = with_status(0, run_program(request));
  const Words rows = lines_of(read_text(file));
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_THAT(rows[1], StartsWith("\"all_reduce/float32/sum/128KiB/np2\","));
  request.environment["BENCHMARK_OUT"] = "/nowhere/x";
  EXPECT_EQ(run_program(request).status, 2);
}

TEST_F(BenchProgram, CsvOnStandardOutputIsATable) {
  const Outcome outcome = with_status(
      0, run_program(quick_bench(
             2, {"--only", "all_reduce", "--sizes", "4K,64K", "--benchmark_format=csv"})));
  EXPECT_THAT(lines_of(outcome.output), SizeIs(3));
}

TEST_F(BenchProgram, ACaseThatCannotRunIsAnErrorButNotTheLast) {
  // MPI counts in 31 bits; nothing is allocated for this.
  const Outcome outcome =
      with_status(3, run_program(quick_bench(2, {"--only", "all_reduce", "--type", "int8",
                                                 "--sizes", "2G,4K", "--benchmark_format=json"})));
  const Json runs = Json::parse(outcome.output).at("benchmarks");
  ASSERT_THAT(runs, SizeIs(2));
  for (const Json& run : runs) {
    const bool is_too_large = run.at("name").get<std::string>().find("/2GiB/") != std::string::npos;
    EXPECT_THAT(run.value("error_message", ""), HasSubstr(is_too_large ? "31 bits" : ""));
    EXPECT_EQ(run.contains("busbw"), !is_too_large) << run;
  }
}

TEST(BenchDescribe, IsOneLineOfJsonWithoutMpirun) {
  const Outcome outcome = with_status(0, run_program({.arguments = {LINKGAIN_BENCH, "--describe"},
                                                      .environment = {{"PATH", "/nowhere"}}}));
  ASSERT_THAT(lines_of(outcome.output), SizeIs(1));
  const Json description = Json::parse(outcome.output);
  EXPECT_THAT(description.at("machine").at("software").at("mpi"), Not(IsEmpty()));
  EXPECT_THAT(description.at("capabilities").at("operations"),
              IsSupersetOf({"all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce",
                            "alltoall", "gather", "scatter", "send_recv", "ping_pong"}));
}

/// Returns what `linkgain-bench --describe` says of its software with that LINKGAIN_NCCL.
Json software_with(const std::string& nccl) {
  const ProgramRequest request{.arguments = {LINKGAIN_BENCH, "--describe"},
                               .environment = {{"LINKGAIN_NCCL", nccl}}};
  return Json::parse(with_status(0, run_program(request)).output).at("machine").at("software");
}

TEST(BenchDescribe, SaysWhichNcclWasOpenedOrWhyNone) {
  const Json software = software_with(NCCL_DOUBLE);
  if (software.at("nccl_header").is_null()) GTEST_SKIP() << "built without CUDA and NCCL";
  EXPECT_EQ(software.at("nccl_library"), "2.19.3");
  EXPECT_EQ(software.at("nccl_path"), std::filesystem::canonical(NCCL_DOUBLE).string());
  EXPECT_EQ(software.at("nccl_found_by"), "LINKGAIN_NCCL");
  EXPECT_TRUE(software.at("nccl_missing").is_null());
  const Json without = software_with("/nowhere/libnccl.so.2");
  EXPECT_TRUE(without.at("nccl_library").is_null());
  EXPECT_THAT(without.at("nccl_missing"), HasSubstr("/nowhere/libnccl.so.2"));
  EXPECT_EQ(without.at("nccl_header"), software.at("nccl_header"));
}

TEST_F(BenchProgram, WithoutNcclRunsMpiAndRefusesGpus) {
  ProgramRequest request =
      bench(2, {"--only", "all_reduce", "--sizes", "64", "--benchmark_min_time=0.001"});
  request.environment["LINKGAIN_NCCL"] = "/nowhere/libnccl.so.2";
  EXPECT_EQ(run_program(request).status, 0);
  std::ranges::replace(request.arguments, std::string("mpi"), std::string("nccl"));
  const Outcome refused = with_status(3, run_program(request));
  EXPECT_THAT(refused.error, HasSubstr("--backend mpi"));
  if (software_with("").at("nccl_header").is_null()) return;
  EXPECT_THAT(refused.error, AllOf(HasSubstr("/nowhere/libnccl.so.2"), HasSubstr("LINKGAIN_NCCL")));
}

}  // namespace
}  // namespace linkgain::test

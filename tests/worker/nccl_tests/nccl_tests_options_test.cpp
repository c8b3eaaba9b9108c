#include "linkgain/nccl_tests/nccl_tests_options.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "linkgain/base/errors.hpp"
#include "support/scoped_environment.hpp"

namespace linkgain::test {
namespace {

using linkgain::test::ScopedEnvironment;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

NcclTestsOptions parse(const std::vector<const char*>& arguments,
                       const char* program = "linkgain-bench") {
  std::vector<const char*> argv{program};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return parse_nccl_tests_options(static_cast<int>(argv.size()), argv.data());
}

std::string refusal(const std::vector<const char*>& arguments,
                    const char* program = "linkgain-bench") {
  try {
    parse(arguments, program);
  } catch (const UsageError& error) {
    return std::string(error.what()) + "; " + error.advice();
  }
  return {};
}

TEST(NcclTestsOptions, DefaultsAreThoseOfNcclTests) {
  const NcclTestsOptions options = parse({});
  ASSERT_THAT(options.programs, SizeIs(1));
  EXPECT_EQ(options.programs[0].name, "all_reduce_perf");
  EXPECT_EQ(options.smallest, Bytes{33554432});
  EXPECT_EQ(options.largest, Bytes{33554432});
  EXPECT_EQ(options.step, Bytes{1048576});
  EXPECT_EQ(options.factor, 1);
  EXPECT_EQ(options.iterations, 20);
  EXPECT_EQ(options.warm_ups, 1);
  EXPECT_EQ(options.checks, 1);
  EXPECT_EQ(options.graph_launches, 0);
  EXPECT_EQ(options.time, NcclTestsTime::mean);
  EXPECT_EQ(options.type, DataType::float32);
  EXPECT_EQ(options.reduction, Reduction::sum);
  EXPECT_EQ(options.root, 0);
  EXPECT_EQ(options.registration, 0);
  EXPECT_THAT(options.json_file, IsEmpty());
}

void expect_all_changed(const NcclTestsOptions& options) {
  EXPECT_EQ(options.smallest, Bytes{8});
  EXPECT_EQ(options.largest, Bytes{3LL << 29});
  EXPECT_EQ(options.factor, 2);
  EXPECT_EQ(options.step, Bytes{65536});
  EXPECT_EQ(options.iterations, 5);
  EXPECT_EQ(options.warm_ups, 0);
  EXPECT_EQ(options.checks, 0);
  EXPECT_EQ(options.graph_launches, 3);
  EXPECT_EQ(options.time, NcclTestsTime::most);
  EXPECT_EQ(options.type, DataType::float16);
  EXPECT_EQ(options.reduction, Reduction::max);
  EXPECT_EQ(options.root, -1);
  EXPECT_EQ(options.registration, 2);
  EXPECT_EQ(options.json_file, "x.json");
}

TEST(NcclTestsOptions, ShortAndLongFormsMeanTheSame) {
  const std::vector<const char*> shorts{
      "-b8", "-e", "1.5G", "-f", "2",    "-i", "64k", "-n", "5",  "-w", "0", "-c", "0",      "-G",
      "3",   "-a", "3",    "-d", "half", "-o", "max", "-r", "-1", "-R", "2", "-J", "x.json", "-g1"};
  const std::vector<const char*> longs{"--minbytes",
                                       "8",
                                       "--maxbytes",
                                       "1536MiB",
                                       "--stepfactor",
                                       "2",
                                       "--stepbytes",
                                       "65536",
                                       "--iters",
                                       "5",
                                       "--warmup_iters",
                                       "0",
                                       "--check",
                                       "0",
                                       "--cudagraph",
                                       "3",
                                       "--average=3",
                                       "--datatype",
                                       "float16",
                                       "--op",
                                       "max",
                                       "--root",
                                       "-1",
                                       "--local_register",
                                       "2",
                                       "--output_file",
                                       "x.json",
                                       "--ngpus",
                                       "1"};
  expect_all_changed(parse(shorts));
  expect_all_changed(parse(longs));
}

TEST(NcclTestsOptions, SizesAreWhatNcclTestsReadsInThem) {
  const auto smallest = [](const char* size) { return parse({"-b", size, "-e", "4G"}).smallest; };
  for (const char* size :
       {"131072", "128K", "128k", "128kb", "128KB", "128KiB", "128 k", " 128k", "+128k", "128k ",
        "0.125M", "1.28e2K", "0x80k", "128kilobytes", "131072.9"}) {
    EXPECT_EQ(smallest(size), Bytes{128 << 10}) << "'" << size << "'";
  }
  EXPECT_EQ(smallest("+8"), Bytes{8});
  EXPECT_EQ(smallest("8mb"), Bytes{8 << 20});
  EXPECT_EQ(smallest("1gb"), Bytes{1 << 30});
  EXPECT_EQ(smallest("1GG"), Bytes{1 << 30}) << "only the first letter counts";
  EXPECT_EQ(parse({"-f", "2", "-i", "0"}).step, Bytes{0}) << "not used";
}

TEST(NcclTestsOptions, LongFlagsMayBeShortenedWhileTheyAreOneFlags) {
  const NcclTestsOptions options =
      parse({"--min", "8", "--max=64", "--stepf", "2", "--w", "7", "--ite", "9", "--loc", "2",
             "--ou", "x.json", "--ng", "1"});
  EXPECT_EQ(options.smallest, Bytes{8});
  EXPECT_EQ(options.largest, Bytes{64});
  EXPECT_EQ(options.factor, 2);
  EXPECT_EQ(options.warm_ups, 7);
  EXPECT_EQ(options.iterations, 9);
  EXPECT_EQ(options.registration, 2);
  EXPECT_EQ(options.json_file, "x.json");
  EXPECT_THAT(options.arguments, ::testing::Contains("--min")) << "as given";
  EXPECT_EQ(parse({"--op", "max"}).reduction, Reduction::max) << "a whole name is no beginning";
  EXPECT_THAT(refusal({"--b", "1"}), HasSubstr("-z 1: only 0 is possible"))
      << "blocking; --backend is not nccl-tests'";
}

TEST(NcclTestsOptions, LongFlagsThatMayBeSeveralAreRefused) {
  EXPECT_THAT(refusal({"--m", "8"}),
              HasSubstr("--m stands for any of --minbytes, --maxbytes, --memory"));
  EXPECT_THAT(refusal({"--step=2"}), HasSubstr("--step stands for any of --stepbytes, "
                                               "--stepfactor"));
  EXPECT_THAT(refusal({"--o", "sum"}), HasSubstr("any of --op, --output_file;"))
      << "--only has to be written in full";
  EXPECT_THAT(refusal({"--onl", "send_recv"}), HasSubstr("--onl"));
  EXPECT_THAT(refusal({"--minbytesx", "8"}), HasSubstr("--minbytesx"));
}

TEST(NcclTestsOptions, TheLastOfSeveralCounts) {
  EXPECT_EQ(parse({"-n", "5", "-n", "7"}).iterations, 7);
}

TEST(NcclTestsOptions, AllLeavesTypeAndReductionOpen) {
  const NcclTestsOptions options = parse({"-d", "all", "-o", "all"});
  EXPECT_FALSE(options.type);
  EXPECT_FALSE(options.reduction);
}

TEST(NcclTestsOptions, ALinkNamesTheOperation) {
  const NcclTestsOptions options = parse({}, "../bin/sendrecv_perf");
  EXPECT_EQ(options.programs[0].operation, "send_recv");
  EXPECT_EQ(options.called_as, "sendrecv_perf");
  EXPECT_EQ(nccl_tests_program_called("reduce_scatter_perf_mpi")->operation, "reduce_scatter");
  EXPECT_EQ(nccl_tests_program_called("reduce_perf")->operation, "reduce");
  EXPECT_FALSE(nccl_tests_program_called("/all_reduce_perf/linkgain-bench"));
}

TEST(NcclTestsOptions, LinksOfOtherProgramsAreRefused) {
  for (const char* name :
       {"alltoallv_perf", "bin/hypercube_perf", "hypercube_perf_mpi", "x_perf"}) {
    EXPECT_THAT(refusal({}, name), AllOf(HasSubstr("unknown program of nccl-tests"),
                                         HasSubstr("alltoall_perf"), HasSubstr("scatter_perf")))
        << name;
  }
  EXPECT_FALSE(nccl_tests_program_called("/opt/alltoallv_perf/linkgain-bench"));
  EXPECT_FALSE(nccl_tests_program_called("linkgain-performance"));
}

TEST(NcclTestsOptions, OnlyNamesOperations) {
  const NcclTestsOptions options = parse({"--only", "send_recv,all_reduce"});
  ASSERT_THAT(options.programs, SizeIs(2));
  EXPECT_EQ(options.programs[0].name, "sendrecv_perf");
}

TEST(NcclTestsOptions, FlagsAreToldFromOthers) {
  EXPECT_TRUE(has_nccl_tests_flag({"-b", "8"}));
  EXPECT_TRUE(has_nccl_tests_flag({"--benchmark_x", "-n20"}));
  EXPECT_TRUE(has_nccl_tests_flag({"--minbytes=8"}));
  EXPECT_TRUE(has_nccl_tests_flag({"-g", "8"}));
  EXPECT_TRUE(has_nccl_tests_flag({"--min=8"}));
  EXPECT_TRUE(has_nccl_tests_flag({"--m", "8"})) << "one of several, which is then refused";
  EXPECT_FALSE(has_nccl_tests_flag({"--", "--form", "--minbytesx"}));
  EXPECT_FALSE(has_nccl_tests_flag({"b", "--benchmark_filter=x", "--bogus", "-q"}));
}

TEST(NcclTestsOptions, SaysWhatItCannotDo) {
  EXPECT_THAT(refusal({"-g", "8"}), HasSubstr("-g 8: only 1 is possible; a rank drives one GPU"));
  EXPECT_THAT(refusal({"-t", "2"}), HasSubstr("-t 2: only 1"));
  EXPECT_THAT(refusal({"-x", "0"}), HasSubstr("-x 0: not possible; set NCCL_CTA_POLICY"));
  for (const char* flag :
       {"-m", "-N", "-p", "-z", "-y", "-T", "-C", "-S", "-M", "-u", "-I", "-K", "-D", "-V"}) {
    EXPECT_THAT(refusal({flag, "7"}), HasSubstr(std::string(flag) + " 7: ")) << flag;
  }
  EXPECT_THAT(refusal({"-p", "0", "-z0", "-m", "1", "-C", "0"}), IsEmpty());
  EXPECT_THAT(refusal({"--sizes", "8"}), HasSubstr("--sizes"));
  EXPECT_THAT(refusal({"--only", "copy_push"}), HasSubstr("no program for copy_push"));
  EXPECT_THAT(
      refusal({"--only", "all_gathr"}),
      HasSubstr("no such program: unknown operation 'all_gathr': did you mean all_gather?"));
  EXPECT_THAT(refusal({"--only", "send_recv"}, "all_reduce_perf"), HasSubstr("takes no --only"));
}

TEST(NcclTestsOptions, RefusesWhatNcclTestsGuessesAt) {
  EXPECT_THAT(refusal({"-d", "flot"}), AllOf(HasSubstr("'flot'"), HasSubstr("mean float?")));
  EXPECT_THAT(refusal({"-o", "summ"}), HasSubstr("did you mean sum?"));
  for (const char* size : {"0", "0.5", "-1", "-1k", "x", "8X", "8 x", "8,k", "nan", "inf", "1e30",
                           "9e99G", "K", "", " "}) {
    EXPECT_THAT(refusal({"-b", "8", "-i", size}), HasSubstr("-i")) << size;
    EXPECT_THAT(refusal({"-b", size}), HasSubstr("-b")) << size;
  }
  for (const char* size : {"-1", "x", ""}) {
    EXPECT_THAT(refusal({"-f", "2", "-i", size}), HasSubstr("-i")) << size;
  }
  EXPECT_THAT(refusal({"-b", "64M"}), HasSubstr("-b 67108864 is more than -e 33554432"));
  EXPECT_THAT(refusal({"-a", "4"}), HasSubstr("--average"));
  EXPECT_THAT(refusal({"-n", "0"}), HasSubstr("--iters"));
  for (const char* name : {"x.csv", "x", "json", ".json/x", "x.json.1", "x."}) {
    EXPECT_THAT(refusal({"-J", name}), HasSubstr(".json")) << name;
  }
  for (const char* name : {"x.json", "x.JSON", "y.1/x.Json", ".json"}) {
    EXPECT_EQ(parse({"-J", name}).json_file, name);
  }
  EXPECT_THAT(refusal({"-J", "x.json", "--only", "all_reduce,send_recv"}), HasSubstr("-J"));
}

TEST(NcclTestsOptions, FollowsNcclTestsVariablesOrSaysThatItDoesNot) {
  EXPECT_FALSE(parse({}).least_bandwidth_gb_per_s);
  {
    const ScopedEnvironment least("NCCL_TESTS_MIN_BW", "12.5");
    EXPECT_EQ(parse({}).least_bandwidth_gb_per_s, 12.5);
  }
  {
    const ScopedEnvironment least("NCCL_TESTS_MIN_BW", "much");
    EXPECT_THAT(refusal({}), HasSubstr("NCCL_TESTS_MIN_BW=much"));
  }
  const ScopedEnvironment split("NCCL_TESTS_SPLIT", "MOD 2");
  EXPECT_THAT(refusal({}), HasSubstr("NCCL_TESTS_SPLIT is set"));
}

}  // namespace
}  // namespace linkgain::test


#include <gmock/gmock.h>

#include <cstdint>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/nccl_tests/nccl_tests.hpp"
#include "support/scoped_environment.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

NcclTestsOptions parse(const std::vector<const char*>& arguments,
                       const char* program = "linkgain-bench") {
  std::vector<const char*> argv{program};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  return parse_nccl_tests_options(static_cast<int>(argv.size()), argv.data());
}

NcclTestsOptions parse_line(const std::string& line) {
  std::istringstream text(line);
  const std::vector<std::string> words{std::istream_iterator<std::string>(text), {}};
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  return parse(arguments);
}

std::string refusal(const std::vector<const char*>& arguments) {
  return refusal_of([&] { parse(arguments); });
}

/// Command lines and what they are refused with.
class Refusals : public Situations {
 public:
  void add(const std::vector<const char*>& arguments, const char* program = "linkgain-bench") {
    std::string line = program;
    for (const char* argument : arguments) line += std::string(" ") + argument;
    refuse(line, [&] { parse(arguments, program); });
  }
};

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
  EXPECT_EQ(options.timeout, std::nullopt) << "but for this one";
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
  EXPECT_EQ(options.timeout, Seconds{7.5});
}

TEST(NcclTestsOptions, ShortAndLongFormsMeanTheSame) {
  const std::string shorts =
      "-b8 -e 1.5G -f 2 -i 64k -n 5 -w 0 -c 0 -G 3 -a 3 -d half -o max -r -1 -R 2 -J x.json -g1 "
      "-T 7.5";
  const std::string longs =
      "--minbytes 8 --maxbytes 1536MiB --stepfactor 2 --stepbytes 65536 --iters 5 --warmup_iters 0 "
      "--check 0 --cudagraph 3 --average=3 --datatype float16 --op max --root -1 "
      "--local_register 2 --output_file x.json --ngpus 1 --timeout 7.5";
  expect_all_changed(parse_line(shorts));
  expect_all_changed(parse_line(longs));
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
  for (const char* other : {"--onl", "--minbytesx", "--sizes"}) {
    EXPECT_THAT(refusal({other, "8"}), HasSubstr(other));
  }
  EXPECT_THAT(refusal({"--b", "1"}), HasSubstr("-z 1: "))
      << "blocking; --backend is not nccl-tests'";
}

TEST(NcclTestsOptions, TakeValuesAsNcclTestsDoes) {
  EXPECT_EQ(parse({"-T", "0"}).timeout, Seconds{0.0}) << "all time in the world";
  EXPECT_EQ(parse({"-n", "5", "-n", "7"}).iterations, 7) << "the last counts";
  EXPECT_EQ(parse({"-b", "8", "-e", "65536G"}).largest, kLargestSize);
  EXPECT_FALSE(parse({"-d", "all"}).type);
  EXPECT_FALSE(parse({"-o", "all"}).reduction);
  EXPECT_NO_THROW(parse({"-p", "0", "-z0", "-m", "1", "-C", "0"})) << "the only value of each";
}

TEST(NcclTestsOptions, ALinkNamesTheOperation) {
  const NcclTestsOptions options = parse({}, "../bin/sendrecv_perf");
  EXPECT_EQ(options.programs[0].operation, OperationKind::send_recv);
  EXPECT_EQ(options.called_as, "sendrecv_perf");
  EXPECT_EQ(nccl_tests_program_called("reduce_scatter_perf_mpi")->operation,
            OperationKind::reduce_scatter);
  EXPECT_EQ(nccl_tests_program_called("reduce_perf")->operation, OperationKind::reduce);
  EXPECT_FALSE(nccl_tests_program_called("/all_reduce_perf/linkgain-bench"));
}

TEST(NcclTestsOptions, FoldersOfALinkNameNothing) {
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

TEST(NcclTestsOptions, GpusAndThreadsAreOneByDefault) {
  EXPECT_EQ(parse({"-b", "8"}).gpus, 1);
  EXPECT_EQ(parse({"-b", "8"}).threads, 1);
  const NcclTestsOptions options = parse({"-g8", "--nth", "2", "--np", "4"});
  EXPECT_EQ(options.gpus, 8);
  EXPECT_EQ(options.threads, 2);
  EXPECT_EQ(parse({"-g", "8", "-g", "1"}).gpus, 1) << "the last counts";
}

TEST(NcclTestsOptions, AreRefusedWithAReason) {
  Refusals refusals;
  refusals.about("values that nccl-tests has and linkgain-bench has not");
  refusals.add({"-g", "0"});
  refusals.add({"-t", "-1"});
  refusals.add({"-x", "0"});
  for (const char* flag :
       {"-m", "-N", "-p", "-z", "-y", "-C", "-S", "-M", "-u", "-I", "-K", "-D", "-V"}) {
    refusals.add({flag, "7"});
  }
  refusals.about("what nccl-tests guesses at");
  refusals.add({"-d", "flot"});
  refusals.add({"-o", "summ"});
  refusals.add({"-b", "8X"});
  refusals.add({"-e", "65537G"});
  refusals.add({"-f", "2", "-i", "-1"});
  refusals.add({"-b", "64M"});
  refusals.add({"-J", "x.csv"});
  refusals.add({"-J", "x.json", "--only", "all_reduce,send_recv"});
  refusals.about("flags that may be several");
  refusals.add({"--m", "8"});
  refusals.add({"--step=2"});
  refusals.add({"--o", "sum"});
  refusals.about("operations");
  refusals.add({"--only", "copy_push"});
  refusals.add({"--only", "all_gathr"});
  refusals.add({"--only", "send_recv"}, "all_reduce_perf");
  refusals.about("names of links");
  for (const char* name :
       {"alltoallv_perf", "bin/hypercube_perf", "hypercube_perf_mpi", "x_perf"}) {
    refusals.add({}, name);
  }
  for (const auto& [name, value] :
       {std::pair("NCCL_TESTS_MIN_BW", "much"), std::pair("NCCL_TESTS_SPLIT", "MOD 2")}) {
    const ScopedEnvironment variable(name, value);
    refusals.about(std::string(name) + "=" + value);
    refusals.add({});
  }
  refusals.expect_golden("refusals.txt");
}

/// Uses nccl-tests' flags, as who calls by them reads no others.
TEST(NcclTestsOptions, AreNamedInMessagesOfOurOwnOptions) {
  EXPECT_EQ(with_nccl_tests_flags("--sizes 8 goes with --type, --sizes 16 with --buffers"),
            "-e 8 goes with -d, -e 16 with -R");
  EXPECT_EQ(with_nccl_tests_flags("--reduction, --launch-mode, --pair"), "-o, -G, --pair");
  EXPECT_THAT(refusal({"--minbytes"}), StartsWith("-b (--minbytes)"));
  EXPECT_THAT(nccl_tests_help(), AllOf(HasSubstr("--minbytes"), HasSubstr("--np")));
}

TEST(NcclTestsOptions, RefusesWhatNcclTestsGuessesAt) {
  for (const char* size : {"0", "0.5", "-1", "-1k", "x", "8X", "8 x", "8,k", "nan", "inf", "1e30",
                           "9e99G", "K", " "}) {
    EXPECT_THAT(refusal({"-b", "8", "-i", size}), HasSubstr("-i")) << size;
    EXPECT_THAT(refusal({"-b", size}), HasSubstr("-b")) << size;
  }
  for (const char* size : {"-1", "x"}) {
    EXPECT_THAT(refusal({"-f", "2", "-i", size}), HasSubstr("-i")) << size;
  }
  EXPECT_THAT(refusal({"-a", "4"}), HasSubstr("--average"));
  EXPECT_THAT(refusal({"-n", "0"}), HasSubstr("--iters"));
  for (const char* name : {"x.csv", "x", "json", ".json/x", "x.json.1", "x."}) {
    EXPECT_THAT(refusal({"-J", name}), HasSubstr(".json")) << name;
  }
  for (const char* name : {"x.json", "x.JSON", "y.1/x.Json", ".json"}) {
    EXPECT_EQ(parse({"-J", name}).json_file, name);
  }
}

TEST(NcclTestsOptions, RefusesEmptyValues) {
  for (const char* flag : {"--minbytes", "--stepbytes", "--datatype", "--op", "--output_file",
                           "--agg_iters", "--only", "--format"}) {
    const auto refused = AllOf(StartsWith(flag), HasSubstr("empty"));
    EXPECT_THAT(refusal({flag, ""}), refused);
    const std::string joined = std::string(flag) + "=";
    EXPECT_THAT(refusal({joined.c_str(), "-n", "5"}), refused);
  }
  EXPECT_THAT(refusal({"-J", ""}), HasSubstr("empty"));
}

TEST(NcclTestsOptions, FollowsNcclTestsLeastBandwidth) {
  EXPECT_FALSE(parse({}).least_bandwidth_gb_per_s);
  const ScopedEnvironment least("NCCL_TESTS_MIN_BW", "12.5");
  EXPECT_EQ(parse({}).least_bandwidth_gb_per_s, 12.5);
}

const NcclTestsProgram& program(std::string_view name) {
  for (const NcclTestsProgram& each : kNcclTestsPrograms) {
    if (each.name == name) return each;
  }
  throw std::logic_error("no such program");
}

std::vector<std::string> names(const std::vector<NcclTestsCurve>& curves) {
  std::vector<std::string> names;
  for (const NcclTestsCurve& curve : curves) {
    names.push_back(std::string(nccl_tests_name(curve.definition.type)) + " " + curve.reduction);
  }
  return names;
}

TEST(NcclTestsCases, AllGoesThroughWhatTheMachineHas) {
  const NcclTestsProgram all_reduce = program("all_reduce_perf");
  EXPECT_THAT(names(nccl_tests_curves(parse({"-d", "all"}), all_reduce, {BackendKind::mpi, 2})),
              ElementsAre("int8 sum", "uint8 sum", "int32 sum", "uint32 sum", "int64 sum",
                          "uint64 sum", "float sum", "double sum"));
  EXPECT_THAT(names(nccl_tests_curves(parse({"-o", "all"}), all_reduce, {BackendKind::nccl, 2})),
              ElementsAre("float sum", "float prod", "float max", "float min", "float avg",
                          "float mulsum"));
  EXPECT_THAT(nccl_tests_curves(parse({"-d", "all"}), all_reduce, {BackendKind::nccl, 2, true}),
              SizeIs(12));
  EXPECT_THAT(nccl_tests_curves(parse({"-d", "all"}), all_reduce, {BackendKind::nccl, 2, false}),
              SizeIs(10));
}

TEST(NcclTestsCases, RootIsOneOfTheRanksOrEachInTurn) {
  const NcclTestsProgram broadcast = program("broadcast_perf");
  const NcclTestsMachine machine{BackendKind::nccl, 3};
  for (const char* every : {"all", "-1"}) {
    std::vector<int> roots;
    for (const NcclTestsCurve& curve :
         nccl_tests_curves(parse({"-r", every}), broadcast, machine)) {
      roots.push_back(curve.root);
    }
    EXPECT_THAT(roots, ElementsAre(0, 1, 2)) << every;
  }
  EXPECT_EQ(nccl_tests_curves(parse({"-r", "2"}), broadcast, machine).at(0).root, 2);
  EXPECT_THAT(refusal_of([&] {
                nccl_tests_curves(parse({"-r", "3"}), broadcast, machine);
              }),
              HasSubstr("-r 3"));
}

TEST(NcclTestsCases, WhatAllLeavesOutIsNamed) {
  const NcclTestsProgram all_reduce = program("all_reduce_perf");
  const NcclTestsProgram broadcast = program("broadcast_perf");
  const NcclTestsMachine mpi{BackendKind::mpi, 2, false};
  const NcclTestsOptions all = parse({"-d", "all", "-o", "all"});
  const NcclTestsProgram send_recv = program("sendrecv_perf");
  const NcclTestsOptions usual = parse({});
  EXPECT_THAT(nccl_tests_left_out(usual, all_reduce, mpi), IsEmpty());
  EXPECT_THAT(nccl_tests_left_out(usual, send_recv, {BackendKind::nccl, 2, true}), IsEmpty());
  EXPECT_THAT(nccl_tests_left_out(all, all_reduce, {BackendKind::nccl, 2, true}), IsEmpty());
  Situations answers;
  const auto add = [&](const std::string& question, const std::vector<std::string>& left_out) {
    std::string lines;
    for (const std::string& line : left_out) lines += (lines.empty() ? "" : "\n") + line;
    answers.add(question, lines);
  };
  add("all_reduce_perf -d all -o all, mpi", nccl_tests_left_out(all, all_reduce, mpi));
  add("broadcast_perf -d all -o all, mpi", nccl_tests_left_out(all, broadcast, mpi));
  add("sendrecv_perf, mpi", nccl_tests_left_out(usual, send_recv, mpi));
  add("all_reduce_perf -d all -o all, nccl without 8-bit floats",
      nccl_tests_left_out(all, all_reduce, {BackendKind::nccl, 2, false}));
  answers.expect_golden("left_out.txt");
}

TEST(NcclTestsCases, BuffersAreOfTheKindThatNcclTestsAllocates) {
  const NcclTestsProgram all_reduce = program("all_reduce_perf");
  const auto buffers = [&](const char* registration, BackendKind backend) {
    return nccl_tests_curves(parse({"-R", registration}), all_reduce, {backend, 2})
        .at(0)
        .definition.buffers;
  };
  // Under graph capture NCCL registers memory of its own by itself, and refuses that of cudaMalloc.
  EXPECT_EQ(buffers("0", BackendKind::nccl), Buffers::allocated);
  EXPECT_EQ(buffers("1", BackendKind::nccl), Buffers::registered);
  EXPECT_EQ(buffers("2", BackendKind::nccl), Buffers::symmetric);
  EXPECT_EQ(buffers("0", BackendKind::mpi), Buffers::plain);
}

TEST(NcclTestsCases, WhatTheBackendLacksIsRefused) {
  const NcclTestsProgram all_reduce = program("all_reduce_perf");
  for (const auto& arguments : std::vector<std::vector<const char*>>{{"-d", "half"},
                                                                     {"-o", "avg"},
                                                                     {"-o", "mulsum"},
                                                                     {"-G", "1"},
                                                                     {"-R", "1"},
                                                                     {"-R", "2"}}) {
    EXPECT_THROW(nccl_tests_curves(parse(arguments), all_reduce, {BackendKind::mpi, 2}), UsageError)
        << arguments[0];
  }
}

TEST(NcclTestsCases, SizesAreWholeElementsOrSharesOf16Bytes) {
  Case c;
  c.ranks = 3;
  const auto size = [&](std::string_view name, std::int64_t bytes) {
    const NcclTestsSize exact = nccl_tests_size(program(name), c, Bytes{bytes});
    return std::pair(exact.elements, exact.size.value);
  };
  EXPECT_EQ(size("all_reduce_perf", 11), std::pair(2L, 8L));
  EXPECT_EQ(size("all_gather_perf", 1000), std::pair(80L, 960L)) << "83 elements, 4 to a share";
  EXPECT_EQ(size("alltoall_perf", 47), std::pair(0L, 0L));
  c.type = DataType::int8;
  EXPECT_EQ(size("reduce_scatter_perf", 48), std::pair(16L, 48L));
}

std::vector<std::int64_t> sizes(const NcclTestsOptions& options) {
  std::vector<std::int64_t> all;
  for (Bytes size = options.smallest; size.value > 0; size = next_nccl_tests_size(options, size)) {
    all.push_back(size.value);
  }
  return all;
}

TEST(NcclTestsCases, SizesGrowByFactorOrStepAsFarAsTheEnd) {
  EXPECT_THAT(sizes(parse({"-b", "8", "-e", "100", "-f", "3"})), ElementsAre(8, 24, 72));
  EXPECT_THAT(sizes(parse({"-b", "8", "-e", "64", "-f", "2"})), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(sizes(parse({"-b", "8", "-e", "20", "-i", "5"})), ElementsAre(8, 13, 18));
  EXPECT_THAT(sizes(parse({"-b", "8", "-e", "2M", "-f", "1"})), ElementsAre(8, 1048584));
  EXPECT_THAT(sizes(parse({})), ElementsAre(33554432));
}

}  // namespace
}  // namespace linkgain::test

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "programs.hpp"

/// Every operation on the mpi backend: its data, where it is right and where it is not.
namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

const std::string kTypes = "float32,float64,int8,uint8,int32,uint32,int64,uint64";
const std::string kReductions = "sum,prod,min,max";
const std::string kMoving = "all_gather,broadcast,alltoall,gather,scatter,ping_pong";
const std::string kReducing = "reduce_scatter,reduce";
const std::string kInPlace = "all_gather,reduce_scatter,broadcast,reduce,gather,scatter";

class BenchOperations : public MpiTest, public testing::WithParamInterface<int> {
 protected:
  static Json measure(const std::vector<std::string>& arguments, int status,
                      const std::string& fault = "") {
    std::vector<std::string> all = arguments;
    all.push_back("--benchmark_format=json");
    ProgramRequest request = quick_bench(GetParam(), all);
    if (!fault.empty()) request.environment["LINKGAIN_TEST_FAULT"] = fault;
    const Outcome outcome = run_program(request);
    EXPECT_EQ(outcome.status, status) << outcome.error;
    return Json::parse(outcome.output).at("benchmarks");
  }

  static void expect_right(const Json& runs) {
    for (const Json& run : runs) {
      EXPECT_FALSE(run.contains("error_message")) << run;
      EXPECT_GT(run.value("busbw", 0.0), 0.0) << run;
    }
  }

  static std::vector<std::string> names_of(const Json& runs) {
    std::vector<std::string> names;
    for (const Json& run : runs) names.push_back(run.at("name"));
    return names;
  }
};

TEST_P(BenchOperations, AreRightForEveryType) {
  const Json moved = measure({"--only", kMoving, "--sizes", "96,48K", "--type", kTypes}, 0);
  EXPECT_THAT(moved, SizeIs(6 * 2 * 8));
  expect_right(moved);
  const Json reduced = measure(
      {"--only", kReducing, "--sizes", "96", "--type", kTypes, "--reduction", kReductions}, 0);
  EXPECT_THAT(reduced, SizeIs(2 * 8 * 4));
  expect_right(reduced);
}

TEST_P(BenchOperations, AreRightInPlaceFromEveryRoot) {
  const std::string last = std::to_string(GetParam() - 1);
  const Json runs =
      measure({"--only", kInPlace, "--sizes", "96,48K", "--root", "0,1," + last, "--in-place"}, 0);
  const std::size_t roots = std::set<int>{0, 1, GetParam() - 1}.size();
  EXPECT_THAT(runs, SizeIs(2 * (2 + 4 * roots)));
  for (const Json& run : runs) EXPECT_THAT(run.at("name"), HasSubstr("/inplace"));
  expect_right(runs);
}

TEST_P(BenchOperations, AreRightOutOfPlaceFromAnotherRoot) {
  const Json runs =
      measure({"--only", "broadcast,reduce,gather,scatter", "--sizes", "96", "--root", "1"}, 0);
  ASSERT_THAT(runs, SizeIs(4));
  for (const Json& run : runs) EXPECT_THAT(run.at("name"), HasSubstr("/root=1"));
  expect_right(runs);
}

TEST_P(BenchOperations, WorkOnSlotsOfAnySize) {
  // No multiple of the alignment; with three ranks no power of two either.
  const Json runs = measure({"--only", kMoving + "," + kReducing, "--sizes", "5000"}, 0);
  EXPECT_THAT(runs, SizeIs(8));
  expect_right(runs);
}

TEST_P(BenchOperations, CountABandwidthByTheirOwnFactor) {
  const double others = static_cast<double>(GetParam() - 1) / GetParam();
  const Json runs = measure({"--only", kMoving + "," + kReducing, "--sizes", "96"}, 0);
  for (const Json& run : runs) {
    const std::string name = run.at("name");
    const std::string operation = name.substr(0, name.find('/'));
    const bool whole =
        operation == "broadcast" || operation == "reduce" || operation == "ping_pong";
    const double factor = whole ? 1.0 : others;
    EXPECT_NEAR(run.at("busbw").get<double>() / run.at("algbw").get<double>(), factor, 1e-9)
        << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, BenchOperations, testing::Values(2, 3));

/// Any rank count shows that wrong data is found.
class BenchWrongOperations : public BenchOperations {};

TEST_P(BenchWrongOperations, AreFoundOnARankThatIsNotTheRoot) {
  const Json runs = measure(
      {"--only", "all_gather,reduce_scatter,broadcast,alltoall,scatter,ping_pong", "--sizes", "64"},
      4, "corrupt@1");
  ASSERT_THAT(runs, SizeIs(6));
  for (const Json& run : runs) {
    EXPECT_THAT(run.value("error_message", ""), HasSubstr("WRONG DATA: 1 of ")) << run;
    EXPECT_THAT(run.value("error_message", ""), HasSubstr("rank 1, element ")) << run;
  }
}

TEST_P(BenchWrongOperations, AreFoundOnTheRootAndInPlace) {
  const std::vector<std::string> common{"--sizes", "64", "--root", "1"};
  for (const bool in_place : {false, true}) {
    std::vector<std::string> arguments{"--only", "reduce,gather,scatter"};
    if (in_place) arguments = {"--only", kInPlace, "--in-place"};
    arguments.insert(arguments.end(), common.begin(), common.end());
    const Json runs = measure(arguments, 4, "corrupt@1");
    ASSERT_THAT(runs, SizeIs(in_place ? 6 : 3));
    for (const Json& run : runs) {
      EXPECT_THAT(run.value("error_message", ""), HasSubstr("WRONG DATA: 1 of ")) << run;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, BenchWrongOperations, testing::Values(2));

class BenchOperationNames : public MpiTest {};

std::vector<std::string> listed(int ranks, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "--benchmark_list_tests");
  return lines_of(run_program(bench(ranks, arguments)).output);
}

TEST_F(BenchOperationNames, FollowTheGrammarAndRoundSizesDown) {
  EXPECT_THAT(listed(3, {"--only", "all_gather,broadcast", "--sizes", "8,16,64", "--root", "2"}),
              ElementsAre("all_gather/float32/12B/np3", "all_gather/float32/60B/np3",
                          "broadcast/float32/8B/np3/root=2", "broadcast/float32/16B/np3/root=2",
                          "broadcast/float32/64B/np3/root=2"));
  EXPECT_THAT(listed(3, {"--only", "ping_pong", "--sizes", "8", "--pair", "2-0"}),
              ElementsAre("ping_pong/float32/8B/np3/pair=2-0"));
}

TEST_F(BenchOperationNames, RunEndToEndIntoARecordAndAReport) {
  const ScratchFolder folder;
  const Outcome outcome = run_program(
      run_request(folder, {"--only", "all_gather,ping_pong,gather", "--sizes", "4K", "--launches",
                           "1", "--root", "1", "--budget", "30", "--ci-width", "0.5", "--quiet"}));
  ASSERT_EQ(outcome.status, 0) << outcome.error;
  std::vector<std::string> names;
  const Json record = read_record(folder);
  for (const Json& c : record.at("cases")) names.push_back(c.at("case"));
  EXPECT_THAT(names,
              ElementsAre("all_gather/float32/4KiB/np2", "ping_pong/float32/4KiB/np2/pair=0-1",
                          "gather/float32/4KiB/np2/root=1"));
  EXPECT_THAT(outcome.output, HasSubstr("ping_pong 0<->1"));
}

}  // namespace
}  // namespace linkgain::test

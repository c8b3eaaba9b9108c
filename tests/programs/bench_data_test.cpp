#include <cstddef>
#include <set>
#include <string>

#include "programs.hpp"

namespace linkgain::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

const std::string kTypes = "float32,float64,int8,uint8,int32,uint32,int64,uint64";
const std::string kReductions = "sum,prod,min,max";

/// Whether data is checked, right and wrong, on so many ranks.
class BenchData : public MpiTest, public testing::WithParamInterface<int> {
 protected:
  static Json measure(const Words& arguments, int status, const std::string& fault = "") {
    Words all = arguments;
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

  static void expect_wrong(const Json& runs, const std::string& rank) {
    for (const Json& run : runs) {
      ASSERT_TRUE(run.contains("error_message")) << run;
      EXPECT_THAT(run.at("error_message"), HasSubstr("WRONG DATA: 1 of ")) << run;
      EXPECT_THAT(run.at("error_message"), HasSubstr("first: " + rank + ", element ")) << run;
    }
  }
};

TEST_P(BenchData, EveryTypeAndReductionIsRight) {
  const Json runs = measure(
      {"--only", "all_reduce", "--sizes", "1K", "--type", kTypes, "--reduction", kReductions}, 0);
  EXPECT_THAT(runs, SizeIs(8 * 4));
  expect_right(runs);
}

TEST_P(BenchData, InPlaceIsRight) {
  const Json runs = measure({"--only", "all_reduce", "--sizes", "1K,1000", "--in-place"}, 0);
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_THAT(runs[0].at("name"), HasSubstr("/inplace"));
  expect_right(runs);
}

TEST_P(BenchData, EveryWayOfSendingIsRight) {
  const Json runs = measure({"--only", "send_recv", "--sizes", "4K", "--pattern",
                             "ring,one-way,both-ways", "--pair", "1-0"},
                            0);
  ASSERT_THAT(runs, SizeIs(3));
  EXPECT_THAT(runs[1].at("name"), HasSubstr("/pair=1-0"));
  EXPECT_THAT(runs[2].at("name"), HasSubstr("/pair=1-0/both"));
  expect_right(runs);
}

TEST_P(BenchData, EveryTypeOfMessageIsRight) {
  const Json runs = measure({"--only", "send_recv", "--sizes", "64", "--type", kTypes}, 0);
  EXPECT_THAT(runs, SizeIs(8));
  expect_right(runs);
}

/// Any rank count shows that wrong data is found.
class BenchWrongData : public BenchData {};

TEST_P(BenchWrongData, IsFoundInEveryTypeAndOperation) {
  const Json runs = measure({"--sizes", "64", "--type", kTypes}, 4, "corrupt@1");
  EXPECT_THAT(runs, SizeIs(8 * 2));
  expect_wrong(runs, "rank 1");
}

TEST_P(BenchWrongData, IsFoundInEveryReductionAndWayOfSending) {
  const Json reductions =
      measure({"--only", "all_reduce", "--sizes", "64", "--in-place", "--reduction", kReductions},
              4, "corrupt@0");
  EXPECT_THAT(reductions, SizeIs(4));
  expect_wrong(reductions, "rank 0");
  const Json ways = measure(
      {"--only", "send_recv", "--sizes", "64", "--pattern", "one-way,both-ways", "--pair", "1-0"},
      4, "corrupt@0");
  EXPECT_THAT(ways, SizeIs(2));
  expect_wrong(ways, "rank 0");
}

/// Covers a rank whose last operation leaves what the one before did, another rank's data, and
/// others.
TEST_P(BenchWrongData, IsFoundHoweverItCameAbout) {
  for (const std::string fault : {"element@1", "last@1", "stale@1", "wrong-rank@1", "swapped@1"}) {
    const Json runs =
        measure({"--only", "all_reduce,send_recv,all_gather", "--sizes", "64K"}, 4, fault);
    ASSERT_THAT(runs, SizeIs(3));
    for (const Json& run : runs) {
      EXPECT_THAT(run.value("error_message", ""), HasSubstr("first: rank 1, element "))
          << fault << ": " << run;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, BenchData, testing::Values(2, 4));
INSTANTIATE_TEST_SUITE_P(Ranks, BenchWrongData, testing::Values(2));

// Every operation on the mpi backend: its data, where it is right and where it is not.

const std::string kMoving = "all_gather,broadcast,alltoall,gather,scatter,ping_pong";
const std::string kReducing = "reduce_scatter,reduce";
const std::string kInPlace = "all_gather,reduce_scatter,broadcast,reduce,gather,scatter";

class BenchOperations : public BenchData {};

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
  for (const bool in_place : {false, true}) {
    Words arguments{"--only", "reduce,gather,scatter"};
    if (in_place) arguments = {"--only", kInPlace, "--in-place"};
    const Json runs = measure(joined(arguments, {"--sizes", "64", "--root", "1"}), 4, "corrupt@1");
    ASSERT_THAT(runs, SizeIs(in_place ? 6 : 3));
    for (const Json& run : runs) {
      EXPECT_THAT(run.value("error_message", ""), HasSubstr("WRONG DATA: 1 of ")) << run;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, BenchWrongOperations, testing::Values(2));

class BenchOperationNames : public MpiTest {};

Words listed(int ranks, Words arguments) {
  return lines_of(run_program(bench(ranks, joined({"--benchmark_list_tests"}, arguments))).output);
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
  const Outcome outcome = with_status(
      0, run_program(run_request(
             folder, {"--only", "all_gather,ping_pong,gather", "--sizes", "4K", "--launches", "1",
                      "--root", "1", "--budget", "30", "--ci-width", "0.5", "--quiet"})));
  Words names;
  const Json record = read_record(folder);
  for (const Json& c : record.at("cases")) names.push_back(c.at("case"));
  EXPECT_THAT(names,
              ElementsAre("all_gather/float32/4KiB/np2", "ping_pong/float32/4KiB/np2/pair=0-1",
                          "gather/float32/4KiB/np2/root=1"));
  EXPECT_THAT(outcome.output, HasSubstr("ping_pong 0<->1"));
}

}  // namespace
}  // namespace linkgain::test

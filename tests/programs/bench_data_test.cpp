#include <map>

#include "programs.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

const std::string kTypes = "float32,float64,int8,uint8,int32,uint32,int64,uint64";
const std::string kReductions = "sum,prod,min,max";

/// Whether data is checked, right and wrong, on so many ranks.
class BenchData : public MpiTest, public testing::WithParamInterface<int> {
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

/// A rank whose last operation leaves what the one before did, another rank's data, and others.
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

}  // namespace
}  // namespace linkgain::test

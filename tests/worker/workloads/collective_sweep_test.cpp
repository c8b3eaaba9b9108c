#include "linkgain/workloads/collective_sweep.hpp"

#include <gmock/gmock.h>

#include "linkgain/workloads/training_operation.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(SweepCounters, AreBandwidthsAndTime) {
  EXPECT_THAT(sweep_counters(parse_case_name("all_reduce/float32/sum/1GiB/np4"), Seconds{1.0}),
              ElementsAre(::testing::Pair("algbw", DoubleEq(1.073741824)),
                          ::testing::Pair("busbw", DoubleEq(1.073741824 * 1.5)),
                          ::testing::Pair("latency_us", 1e6)));
}

TEST(SweepCounters, HaveNoBandwidthWhereTheSizeIsNotWhatIsMoved) {
  const Case definition = parse_case_name("load_latency/64MiB/np2/pair=0-1");
  EXPECT_THAT(sweep_counters(definition, Seconds{1e-6}),
              ElementsAre(::testing::Pair("latency_us", 1.0)));
}

TEST(ProblemOfGradients, IsNoneWhereHashesAreTheSame) {
  EXPECT_THAT(problem_of_gradients(1, 0xabc, 0xabc), IsEmpty());
}

TEST(ProblemOfParameters, TakesWhatMostRanksHaveAsRight) {
  const std::vector<std::uint64_t> hashes{0x7, 0x5, 0x5, 0x5};
  for (const int rank : {1, 2, 3}) EXPECT_THAT(problem_of_parameters(hashes, rank), IsEmpty());
}

TEST(ProblemOfParameters, TakesTheLowestRanksAsRightWhereNoMoreAgree) {
  EXPECT_THAT(problem_of_parameters(std::vector<std::uint64_t>{9, 4}, 0), IsEmpty());
  const std::vector<std::uint64_t> halves{4, 9, 9, 4};
  EXPECT_THAT(problem_of_parameters(halves, 3), IsEmpty());
}

TEST(ProblemsOfTraining, NameRanksAndHashes) {
  Situations answers;
  answers.add("gradients of rank 1 with hash abc, not abd", problem_of_gradients(1, 0xabc, 0xabd));
  const auto add = [&](const std::string& question, const std::vector<std::uint64_t>& hashes,
                       int rank) { answers.add(question, problem_of_parameters(hashes, rank)); };
  add("parameters of rank 0 among hashes 7 5 5 5", {7, 5, 5, 5}, 0);
  add("parameters of rank 1 among hashes 9 4", {9, 4}, 1);
  add("parameters of rank 2 among hashes 4 9 9 4", {4, 9, 9, 4}, 2);
  answers.expect_golden("problems.txt");
}

}  // namespace
}  // namespace linkgain::test

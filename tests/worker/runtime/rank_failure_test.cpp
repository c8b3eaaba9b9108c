// Run by mpirun, and must fail: not by time, and saying which rank failed and where.
#include <gtest/gtest.h>

#include <stdexcept>

#include "support/rank_test.hpp"

namespace linkgain::test {
namespace {

using AbandonedRanks = RankTest;

TEST_F(AbandonedRanks, DoNotWaitForOneThatThrew) {
  if (session->rank() == 1) throw std::runtime_error("no such thing");
  session->barrier();
}

}  // namespace
}  // namespace linkgain::test

int main(int argc, char** argv) { return linkgain::test::run_rank_tests(argc, argv); }

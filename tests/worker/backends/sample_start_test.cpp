// Run by mpirun, each rank on a GPU of its own: a sample is its operations and no more.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "linkgain/cases/case.hpp"
#include "linkgain/runtime/operation.hpp"
#include "linkgain/statistics/statistics.hpp"
#include "support/nccl_rank_backend.hpp"
#include "support/rank_test.hpp"

namespace linkgain::test {
namespace {

class SampleStart : public RankTest {
 protected:
  /// Returns the slowest rank's time of a batch.
  static double time_of(Operation& operation, std::int64_t operations) {
    session->barrier();
    return session->max(operation.time_batch(operations).value().value);
  }

  /// Returns what a batch takes beyond half of twice as many operations: the median of many pairs.
  static Seconds time_beside_operations(const Case& c, std::int64_t granules) {
    constexpr int kWarmUps = 5;
    constexpr int kPairs = 61;
    const std::unique_ptr<Operation> operation = nccl_backend()->open(c);
    operation->prepare();
    operation->warm_up();
    const std::int64_t operations = granules * operation->granularity();
    for (int i = 0; i < kWarmUps; ++i) time_of(*operation, 2 * operations);
    std::vector<double> times;
    for (int pair = 0; pair < kPairs; ++pair) {
      const double once = time_of(*operation, operations);
      times.push_back(2.0 * once - time_of(*operation, 2 * operations));
    }
    return Seconds{median(times)};
  }

  static Case all_reduce(std::int64_t size, LaunchMode launch) {
    Case c;
    c.size = Bytes{size};
    c.ranks = session->ranks();
    c.launch = launch;
    return c;
  }
};

/// Allows 10 us, half of what the host takes to enqueue the first operation.
TEST_F(SampleStart, TakesNoTimeOfItsOwn) {
  const Seconds by_stream = time_beside_operations(all_reduce(4 << 20, LaunchMode::stream), 10);
  EXPECT_LT(by_stream.value, 10e-6);
  EXPECT_GT(by_stream.value, -10e-6);
  const Seconds by_graph = time_beside_operations(all_reduce(4 << 20, LaunchMode::graph), 1);
  EXPECT_LT(by_graph.value, 10e-6);
  EXPECT_GT(by_graph.value, -10e-6);
}

/// Uses short operations, which wait for the host: it must not be ahead when the clock starts.
TEST_F(SampleStart, GivesNoLeadToOperationsThatTheHostBounds) {
  const Seconds beside = time_beside_operations(all_reduce(8, LaunchMode::stream), 50);
  EXPECT_LT(beside.value, 12e-6);
  EXPECT_GT(beside.value, -12e-6);
}

}  // namespace
}  // namespace linkgain::test

int main(int argc, char** argv) {
  ::testing::AddGlobalTestEnvironment(new linkgain::test::NcclBackendEnd);
  return linkgain::test::run_rank_tests(argc, argv, linkgain::test::prepare_nccl_backend);
}

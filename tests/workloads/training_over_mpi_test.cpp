// Run by mpirun: ranks that are processes train together over MPI.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "linkgain/backends/mpi_backend.hpp"
#include "support/rank_test.hpp"
#include "training_ranks.hpp"

namespace linkgain {
namespace {

using testing::EventLog;
using testing::expect_near;
using testing::RankResult;
using testing::RankTest;
using testing::TrainingCase;

constexpr std::array kStrategies{TrainingStrategy::ddp, TrainingStrategy::zero2,
                                 TrainingStrategy::zero3};

/// Learns fast, clips in every step, and has several buckets.
TrainingCase training(TrainingStrategy strategy) {
  TrainingCase result;
  result.settings = {.strategy = strategy,
                     .buckets = {BucketRule::current, Bytes{64 << 10}},
                     .optimizer = {.learning_rate = 3e-3, .largest_norm = 0.05},
                     .steps = 8};
  result.ranks = RankTest::session->ranks();
  result.config = gpt2_config(ModelSize::tiny);
  result.shape = {1, 32};
  result.steps = 4;
  return result;
}

class TrainingOverMpi : public RankTest {
 protected:
  static void SetUpTestSuite() {
    const auto backend = make_mpi_backend(*session, Bytes{1 << 20});
    for (const TrainingStrategy strategy : kStrategies) {
      results_[strategy] = train_here(*backend, strategy);
    }
    // Alike on all ranks; the others wait meanwhile.
    if (session->is_root()) expected_ = testing::train(testing::one_rank(training({}))).front();
    session->barrier();
  }

  /// This rank's part.
  static RankResult train_here(Backend& backend, TrainingStrategy strategy) {
    const TrainingCase how = training(strategy);
    EventLog log;
    TrainingRun run = testing::make_run(how, backend.open_training_communication(nullptr), log);
    RankResult result;
    for (int step = 0; step < how.steps; ++step) {
      run.run_step(step);
      result.losses.push_back(run.read_loss());
      result.hashes.push_back(run.parameter_hash());
    }
    result.parameters = testing::parameters_of(run.model());
    return result;
  }

  /// Collective: of each step, over ranks; empty but on rank 0.
  static std::vector<double> mean_losses(TrainingStrategy strategy) {
    const std::vector<double>& own = results_[strategy].losses;
    const std::vector<double> all = session->gather(own);
    std::vector<double> means(session->is_root() ? own.size() : 0, 0.0);
    for (std::size_t i = 0; i < all.size(); ++i) {
      means[i % own.size()] += all[i] / session->ranks();
    }
    return means;
  }

  static std::map<TrainingStrategy, RankResult> results_;
  static RankResult expected_;  ///< of one rank with all samples; on rank 0
};

std::map<TrainingStrategy, RankResult> TrainingOverMpi::results_;
RankResult TrainingOverMpi::expected_;

TEST_F(TrainingOverMpi, FollowsOneRankWithAllSamples) {
  for (const TrainingStrategy strategy : kStrategies) {
    SCOPED_TRACE(name_of(strategy));
    const std::vector<double> losses = mean_losses(strategy);
    if (!session->is_root()) continue;
    expect_near(losses, expected_.losses);
    expect_near(results_[strategy].parameters, expected_.parameters);
    EXPECT_GT(losses.front() - losses.back(), 1e-2) << "nothing was learned";
  }
}

TEST_F(TrainingOverMpi, LeavesTheSameBitsOnAllRanksAfterEveryStep) {
  for (const TrainingStrategy strategy : kStrategies) {
    const std::vector<std::uint64_t>& own = results_[strategy].hashes;
    const std::string hashes = ::testing::PrintToString(own);
    EXPECT_THAT(session->share(hashes), ::testing::Each(hashes)) << name_of(strategy);
    EXPECT_NE(own.front(), own.back()) << name_of(strategy);
  }
}

/// Each shards out the sums in its own way, and so rounds them in its own way.
TEST_F(TrainingOverMpi, ShardedStrategiesFollowDdp) {
  const std::vector<double> ddp = mean_losses(TrainingStrategy::ddp);
  expect_near(mean_losses(TrainingStrategy::zero2), ddp);
  expect_near(mean_losses(TrainingStrategy::zero3), ddp);
}

TEST_F(TrainingOverMpi, RanksComputeSamplesOfTheirOwn) {
  const std::vector<double> all = session->gather(results_[TrainingStrategy::ddp].losses);
  for (std::size_t i = 1; session->is_root() && i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(all[i], all[j]);
  }
}

}  // namespace
}  // namespace linkgain

int main(int argc, char** argv) { return linkgain::testing::run_rank_tests(argc, argv); }

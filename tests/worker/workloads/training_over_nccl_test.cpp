// Run by mpirun: ranks with a GPU each train together over NCCL.
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/analysis/training_summary.hpp"
#include "linkgain/model/gpu_model.hpp"
#include "linkgain/workloads/training_operation.hpp"
#include "support/nccl_rank_backend.hpp"
#include "support/rank_test.hpp"
#include "thread_communication.hpp"
#include "worker/model/model_steps.hpp"

namespace linkgain::test {
namespace {

constexpr std::array kStrategies{TrainingStrategy::ddp, TrainingStrategy::zero2,
                                 TrainingStrategy::zero3};
constexpr BatchShape kShape{4, 32};
constexpr int kSteps = 4;

/// Shares of the whole way that parameters went, as AdamW goes a full step either way where a
/// gradient is nothing but rounding. A rank that trains for itself is further off than the second.
constexpr double kRounding = 0.01;
constexpr double kOtherTraining = 0.1;

/// What a rank saw.
struct Trained {
  std::vector<double> losses;         ///< of each step
  std::vector<std::uint64_t> hashes;  ///< of all parameters, after each step
  std::vector<double> parameters;     ///< after the last
  std::size_t buckets = 0;
};

/// Learns fast, clips in every step, and has several buckets.
TrainingSettings settings_of(TrainingStrategy strategy) {
  return {.strategy = strategy,
          .buckets = {BucketRule::current, Bytes{32 << 10}},
          .optimizer = {.learning_rate = 3e-3, .largest_norm = 0.05},
          .steps = 8};
}

std::unique_ptr<TrainingModel> make_model(const BatchShape& shape) {
  GpuModelOptions options;
  options.config = gpt2_config(ModelSize::tiny);
  options.shape = shape;
  options.dropout = 0.0;
  options.seed = 5;
  options.measures_products = false;
  return make_gpu_model(options);
}

Trained train(TrainingParts parts, TrainingStrategy strategy) {
  parts.tokens = generated_tokens(gpt2_config(ModelSize::tiny).vocabulary, 11);
  TrainingRun run(std::move(parts), settings_of(strategy));
  Trained result;
  result.buckets = run.plan().buckets.size();
  for (int step = 0; step < kSteps; ++step) {
    run.run_step(step);
    result.losses.push_back(run.read_loss());
    run.gather_parameters();
    result.hashes.push_back(run.model().parameter_hash());
  }
  result.parameters = parameters_of(run.model());
  return result;
}

/// Trains with the other ranks; collective.
Trained train_together(TrainingStrategy strategy) {
  TrainingParts parts;
  parts.model = make_model(kShape);
  parts.communication = nccl_backend()->open_training_communication(parts.model->stream());
  return train(std::move(parts), strategy);
}

/// Trains one rank with the samples of all, on this rank's GPU.
Trained train_alone(int ranks) {
  ThreadExchange nobody(1);
  EventLog log;
  TrainingParts parts;
  parts.model = make_model({kShape.samples * ranks, kShape.length});
  parts.communication = std::make_unique<ThreadCommunication>(nobody, 0, log);
  return train(std::move(parts), TrainingStrategy::none);
}

class TrainingOverNccl : public RankTest {
 protected:
  static void SetUpTestSuite() {
    for (const TrainingStrategy strategy : kStrategies) {
      results_[strategy] = train_together(strategy);
    }
    results_[TrainingStrategy::none] = train_together(TrainingStrategy::none);
    expected_ = train_alone(session->ranks());
    initial_ = parameters_of(*make_model(kShape));
    session->barrier();
  }

  /// Returns each step's mean over ranks; empty but on rank 0. Collective.
  static std::vector<double> mean_losses(TrainingStrategy strategy) {
    const std::vector<double>& own = results_[strategy].losses;
    const std::vector<double> all = session->gather(own);
    std::vector<double> means(session->is_root() ? own.size() : 0, 0.0);
    for (std::size_t i = 0; i < all.size(); ++i) {
      means[i % own.size()] += all[i] / session->ranks();
    }
    return means;
  }

  /// Returns how far parameters are from those of one rank, as a share of how far these went.
  static double distance_of(const std::vector<double>& parameters) {
    double difference = 0.0;
    double way = 0.0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      difference += std::pow(parameters[i] - expected_.parameters[i], 2);
      way += std::pow(expected_.parameters[i] - initial_[i], 2);
    }
    return std::sqrt(difference / way);
  }

  static std::map<TrainingStrategy, Trained> results_;
  static Trained expected_;  ///< of one rank with all samples
  static std::vector<double> initial_;
};

std::map<TrainingStrategy, Trained> TrainingOverNccl::results_;
Trained TrainingOverNccl::expected_;
std::vector<double> TrainingOverNccl::initial_;

TEST_F(TrainingOverNccl, FollowsOneRankWithAllSamples) {
  TrainingParameters training;
  training.samples = kShape.samples;
  training.length = kShape.length;
  const double bound = loss_bound(training, session->ranks());
  for (const TrainingStrategy strategy : kStrategies) {
    SCOPED_TRACE(name_of(strategy));
    EXPECT_GT(results_[strategy].buckets, 3U);
    EXPECT_LT(distance_of(results_[strategy].parameters), kRounding);
    const std::vector<double> losses = mean_losses(strategy);
    for (std::size_t i = 0; i < losses.size(); ++i) {
      EXPECT_NEAR(losses[i] / expected_.losses[i], 1.0, bound) << "step " << i;
    }
  }
  EXPECT_GT(expected_.losses.front() - expected_.losses.back(), 1e-2) << "nothing was learned";
  EXPECT_GT(distance_of(results_[TrainingStrategy::none].parameters), kOtherTraining)
      << "the bound finds nothing";
}

TEST_F(TrainingOverNccl, LeavesTheSameBitsOnAllRanksAfterEveryStep) {
  for (const TrainingStrategy strategy : kStrategies) {
    const std::vector<std::uint64_t>& own = results_[strategy].hashes;
    const std::string hashes = ::testing::PrintToString(own);
    EXPECT_THAT(session->share(hashes), ::testing::Each(hashes)) << name_of(strategy);
    for (std::size_t i = 1; i < own.size(); ++i) EXPECT_NE(own[i], own[i - 1]) << "step " << i;
  }
  const std::string alone = ::testing::PrintToString(results_[TrainingStrategy::none].hashes);
  EXPECT_THAT(session->share(alone), ::testing::Not(::testing::Each(alone)))
      << "ranks have other samples";
}

}  // namespace
}  // namespace linkgain::test

int main(int argc, char** argv) {
  ::testing::AddGlobalTestEnvironment(new linkgain::test::NcclBackendEnd);
  return linkgain::test::run_rank_tests(argc, argv, linkgain::test::prepare_nccl_backend);
}

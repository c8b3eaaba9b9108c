#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends.hpp"
#include "linkgain/runtime/training_communication.hpp"
#include "support/rank_test.hpp"
#include "thread_communication.hpp"
#include "training_ranks.hpp"

// Run by mpirun: ranks that are processes train together over MPI.
namespace linkgain::test {
namespace {

/// Passes operations on and writes them into a log that a model writes into, too. `log` must
/// outlive it.
class LoggedCommunication : public TrainingCommunication {
 public:
  LoggedCommunication(std::unique_ptr<TrainingCommunication> inner, EventLog& log)
      : inner_(std::move(inner)), log_(log) {}

 private:
  int do_rank() const override { return inner_->rank(); }
  int do_ranks() const override { return inner_->ranks(); }
  void* do_stream() override { return inner_->stream(); }

  CommunicationTicket do_all_reduce(const FlatMemory& memory,
                                    const ParameterRange& range) override {
    return logged("all_reduce", inner_->all_reduce(memory, range), range);
  }
  CommunicationTicket do_reduce_scatter(const FlatMemory& memory,
                                        const ParameterRange& range) override {
    return logged("reduce_scatter", inner_->reduce_scatter(memory, range), range);
  }
  CommunicationTicket do_all_gather(const FlatMemory& memory,
                                    const ParameterRange& range) override {
    return logged("all_gather", inner_->all_gather(memory, range), range);
  }

  void do_wait(CommunicationTicket ticket) override {
    log_.push_back({"wait", ticket.number, {}});
    inner_->wait(ticket);
  }

  void do_progress() override {
    log_.push_back({"progress", 0, {}});
    inner_->progress();
  }

  CommunicationTicket logged(const char* what, CommunicationTicket ticket,
                             const ParameterRange& range) {
    log_.push_back({what, ticket.number, range});
    return ticket;
  }

  std::unique_ptr<TrainingCommunication> inner_;
  EventLog& log_;
};

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

/// Keeps the default limit of buckets, as its gradients are less than 1 MiB.
TrainingCase with_one_bucket(TrainingCase like) {
  like.settings.buckets = {};
  return like;
}

/// Returns where an event stands in a log; its size if nowhere.
std::size_t place_of(const EventLog& events, const std::string& what, std::int64_t number) {
  const auto found = std::ranges::find_if(
      events, [&](const Event& event) { return event.what == what && event.number == number; });
  return static_cast<std::size_t>(found - events.begin());
}

/// Picks the reductions of a step's buckets.
std::vector<Event> reductions_in(const EventLog& events, TrainingStrategy strategy) {
  const char* const what = strategy == TrainingStrategy::ddp ? "all_reduce" : "reduce_scatter";
  std::vector<Event> result;
  std::ranges::copy_if(events, std::back_inserter(result),
                       [&](const Event& event) { return event.what == what; });
  return result;
}

class TrainingOverMpi : public RankTest {
 protected:
  static void SetUpTestSuite() {
    const auto backend = make_mpi_backend(*session, Bytes{1 << 20});
    for (const TrainingStrategy strategy : kStrategies) {
      results_[strategy] = train_here(*backend, training(strategy));
      of_one_bucket_[strategy] = train_here(*backend, with_one_bucket(training(strategy)));
    }
    // Alike on all ranks; the others wait meanwhile.
    if (session->is_root()) expected_ = train(one_rank(training({}))).front();
    session->barrier();
  }

  /// Trains this rank's part.
  static RankResult train_here(Backend& backend, const TrainingCase& how) {
    EventLog log;
    TrainingRun run = make_run(
        how,
        std::make_unique<LoggedCommunication>(backend.open_training_communication(nullptr), log),
        log);
    RankResult result;
    for (int step = 0; step < how.steps; ++step) {
      log.clear();
      run.run_step(step);
      result.events = log;
      result.losses.push_back(run.read_loss());
      run.gather_parameters();
      result.hashes.push_back(run.model().parameter_hash());
    }
    result.parameters = parameters_of(run.model());
    return result;
  }

  /// Returns each step's mean over ranks; empty but on rank 0. Collective.
  static std::vector<double> mean_losses(TrainingStrategy strategy) {
    return mean_losses(results_[strategy]);
  }

  static std::vector<double> mean_losses(const RankResult& result) {
    const std::vector<double>& own = result.losses;
    const std::vector<double> all = session->gather(own);
    std::vector<double> means(session->is_root() ? own.size() : 0, 0.0);
    for (std::size_t i = 0; i < all.size(); ++i) {
      means[i % own.size()] += all[i] / session->ranks();
    }
    return means;
  }

  static std::map<TrainingStrategy, RankResult> results_;
  static std::map<TrainingStrategy, RankResult> of_one_bucket_;
  static RankResult expected_;  ///< of one rank with all samples; on rank 0
};

std::map<TrainingStrategy, RankResult> TrainingOverMpi::results_;
std::map<TrainingStrategy, RankResult> TrainingOverMpi::of_one_bucket_;
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

constexpr std::array kWithBuckets{TrainingStrategy::ddp, TrainingStrategy::zero2};

TEST_F(TrainingOverMpi, ReducesBucketsWhileBackwardGoesOn) {
  for (const TrainingStrategy strategy : kWithBuckets) {
    SCOPED_TRACE(name_of(strategy));
    const EventLog& events = results_[strategy].events;
    const std::vector<Event> reductions = reductions_in(events, strategy);
    ASSERT_GT(reductions.size(), 3U);
    const Event& first = reductions.front();
    const std::size_t begin = place_of(events, first.what, first.number);
    EXPECT_LT(begin, place_of(events, "backward", 1)) << "two segments are still to come";
    const std::size_t progress = place_of({events.begin() + begin, events.end()}, "progress", 0);
    EXPECT_LT(begin + progress, place_of(events, "backward", 0)) << "MPI had a turn meanwhile";
    EXPECT_GT(place_of(events, "wait", first.number), place_of(events, "backward ended", 0));
  }
}

TEST_F(TrainingOverMpi, ReducesOneBucketWhenBackwardHasComeToItsEnd) {
  for (const TrainingStrategy strategy : kWithBuckets) {
    SCOPED_TRACE(name_of(strategy));
    const EventLog& events = of_one_bucket_[strategy].events;
    const std::vector<Event> reductions = reductions_in(events, strategy);
    ASSERT_EQ(reductions.size(), 1U);
    EXPECT_GT(place_of(events, reductions[0].what, reductions[0].number),
              place_of(events, "backward", 0));
  }
}

TEST_F(TrainingOverMpi, LearnsTheSameWhateverItsBuckets) {
  for (const TrainingStrategy strategy : kWithBuckets) {
    SCOPED_TRACE(name_of(strategy));
    const std::vector<double> losses = mean_losses(strategy);
    expect_near(mean_losses(of_one_bucket_[strategy]), losses);
    expect_near(of_one_bucket_[strategy].parameters, results_[strategy].parameters);
  }
}

/// Allows for rounding: each shards out the sums, and so rounds them, in its own way.
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
}  // namespace linkgain::test

int main(int argc, char** argv) { return linkgain::test::run_rank_tests(argc, argv); }

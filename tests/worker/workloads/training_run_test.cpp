#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/workloads/training_operation.hpp"
#include "training_ranks.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;

constexpr auto kNone = TrainingStrategy::none;
constexpr auto kDdp = TrainingStrategy::ddp;
constexpr auto kZero2 = TrainingStrategy::zero2;
constexpr auto kZero3 = TrainingStrategy::zero3;
constexpr std::array kCommunicating{kDdp, kZero2, kZero3};

/// Learns fast, clips in every step, and has several buckets.
TrainingCase training(TrainingStrategy strategy, int ranks) {
  TrainingCase result;
  result.settings = {.strategy = strategy,
                     .buckets = {BucketRule::current, Bytes{8 << 10}},
                     .optimizer = {.learning_rate = 3e-3, .largest_norm = 0.05},
                     .steps = 8};
  result.ranks = ranks;
  return result;
}

/// Shows what every step does alike. The second begins with what the first one left.
TrainingCase two_steps(TrainingStrategy strategy, int ranks) {
  TrainingCase result = training(strategy, ranks);
  result.steps = 2;
  return result;
}

std::vector<Event> only(const EventLog& events, const std::string& what) {
  std::vector<Event> result;
  std::ranges::copy_if(events, std::back_inserter(result),
                       [&](const Event& event) { return event.what == what; });
  return result;
}

/// Returns where an event stands in the log; its size if nowhere.
std::size_t place_of(const EventLog& events, const std::string& what, std::int64_t number) {
  const auto found = std::ranges::find_if(
      events, [&](const Event& event) { return event.what == what && event.number == number; });
  return static_cast<std::size_t>(found - events.begin());
}

StrategyPlan plan_of(const TrainingCase& training) {
  return plan_strategy(training.settings.strategy, ParameterTable(training.config),
                       training.settings.buckets, DataType::float64, training.ranks);
}

TEST(TrainingRun, OfOneRankIsTheModelAlone) {
  const TrainingCase alone = one_rank(training(kDdp, 2));
  const auto result = train(alone).front();
  const auto model = make_reference_model({alone.config, alone.shape, alone.dropout, 5});
  std::vector<double> losses;
  for (int step = 0; step < alone.steps; ++step) {
    const auto tokens = generated_batch(alone.config, {step, 0, 1}, alone.shape);
    losses.push_back(run_step(*model, {.tokens = tokens, .step = step},
                              optimizer_step(alone.settings.optimizer, step, 8)));
    EXPECT_GT(*static_cast<double*>(model->squared_norm().data), 0.0025) << "nothing to clip";
  }
  expect_near(result.losses, losses);
  expect_near(result.parameters, parameters_of(*model));
}

TEST(TrainingRun, OfManyRanksFollowsOneWithAllSamples) {
  for (const int ranks : {2, 4}) {
    const RankResult expected = train(one_rank(training(kDdp, ranks))).front();
    EXPECT_GT(std::abs(expected.losses.front() - expected.losses.back()), 1e-3);
    for (const TrainingStrategy strategy : kCommunicating) {
      SCOPED_TRACE(std::string(name_of(strategy)) + " of " + std::to_string(ranks));
      const auto results = train(training(strategy, ranks));
      expect_near(mean_losses(results), expected.losses);
      for (const RankResult& result : results) expect_near(result.parameters, expected.parameters);
    }
  }
}

TEST(TrainingRun, LeavesTheSameBitsOnAllRanks) {
  for (const TrainingStrategy strategy : kCommunicating) {
    const auto results = train(training(strategy, 4));
    for (const RankResult& result : results) {
      EXPECT_EQ(result.hashes, results.front().hashes) << name_of(strategy);
      EXPECT_EQ(result.parameters, results.front().parameters) << name_of(strategy);
      EXPECT_NE(result.losses.front(), 0.0);
    }
    EXPECT_NE(results.front().hashes[0], results.front().hashes[1]);
    EXPECT_NE(results.front().losses, results.back().losses) << "ranks have the same samples";
  }
}

TEST(TrainingRun, TakesRanksThatDivideNothingUnderDdp) {
  const auto results = train(training(kDdp, 3));
  expect_near(mean_losses(results), train(one_rank(training(kDdp, 3))).front().losses);
}

/// Returns what a rank of a training in double precision sends by the formulas of
/// training_payload(), and for the all-reduce of the gradients' norm.
double bytes_of_a_step(TrainingStrategy strategy, int ranks) {
  const ParameterTable table(kSmall);
  constexpr double kNumber = 8.0;
  const double size = kNumber * static_cast<double>(table.count());
  const auto last_norm = static_cast<double>(table.segment_range(table.segments() - 1).count);
  double bytes = strategy == kNone ? 0.0 : 2.0 * size;
  if (strategy == TrainingStrategy::zero3) bytes += size - kNumber * last_norm;
  if (shards_optimizer(strategy)) bytes += 2.0 * kNumber;
  return bytes * (ranks - 1) / ranks;
}

TEST(TrainingRun, SendsTheBytesOfTheFormulas) {
  for (const int ranks : {2, 4}) {
    for (const TrainingStrategy strategy : kValues<TrainingStrategy>) {
      const double expected = bytes_of_a_step(strategy, ranks);
      for (const RankResult& result : train(two_steps(strategy, ranks))) {
        EXPECT_DOUBLE_EQ(result.sent_bytes, expected) << name_of(strategy) << ' ' << ranks;
        EXPECT_EQ(result.in_flight, 0U);
      }
    }
  }
}

TEST(TrainingRun, WithoutCommunicationTrainsEveryRankForItself) {
  const auto results = train(two_steps(kNone, 2));
  for (const RankResult& result : results) {
    for (const Event& event : result.events) {
      EXPECT_THAT(event.what,
                  ::testing::AnyOf("forward", "backward", "backward ended", "progress"));
    }
  }
  EXPECT_NE(results[0].hashes, results[1].hashes);
}

TEST(TrainingRun, ReducesBucketsInOrderAndFromTheMiddleOfBackwardOn) {
  for (const TrainingStrategy strategy : {kDdp, kZero2}) {
    const TrainingCase here = two_steps(strategy, 2);
    const auto buckets = plan_of(here).buckets;
    ASSERT_GT(buckets.size(), 3U);
    const EventLog events = train(here).front().events;
    const auto reductions = only(events, strategy == kDdp ? "all_reduce" : "reduce_scatter");
    ASSERT_EQ(reductions.size(), buckets.size());
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      EXPECT_EQ(reductions[i].range, buckets[i].range) << i;
      // Started within the backward of the segment whose gradient was the last.
      const int segment = ParameterTable(here.config)
                              .tensors()[static_cast<std::size_t>(buckets[i].tensors.back())]
                              .segment;
      const std::size_t start = place_of(events, reductions[i].what, reductions[i].number);
      EXPECT_GT(start, place_of(events, "backward", segment)) << i;
      EXPECT_LT(start, place_of(events, "backward ended", segment)) << i;
    }
    EXPECT_LT(place_of(events, reductions[0].what, reductions[0].number),
              place_of(events, "backward", 2));
    // None is waited for before backward has ended.
    EXPECT_GT(place_of(events, "wait", reductions[0].number),
              place_of(events, "backward ended", 0));
  }
}

TEST(TrainingRun, KeepsTheOrderOfBucketsWhereALaterOneIsReadyFirst) {
  TrainingCase late = two_steps(kDdp, 2);
  late.tells_late = true;
  const auto buckets = plan_of(late).buckets;
  const auto results = train(late);
  const auto reductions = only(results.front().events, "all_reduce");
  ASSERT_EQ(reductions.size(), buckets.size());
  for (std::size_t i = 0; i < buckets.size(); ++i) EXPECT_EQ(reductions[i].range, buckets[i].range);
  EXPECT_EQ(results.front().hashes, train(two_steps(kDdp, 2)).front().hashes);
}

TEST(TrainingRun, FollowsTheLegacyRule) {
  TrainingCase legacy = two_steps(kDdp, 2);
  // Its first limit of 1 MiB is reached by the token embedding alone.
  legacy.config.vocabulary = 8400;
  legacy.settings.buckets = {BucketRule::legacy, {}};
  legacy.steps = 1;
  const auto buckets = plan_of(legacy).buckets;
  ASSERT_EQ(buckets.size(), 2U);
  const auto results = train(legacy);
  const auto reductions = only(results.front().events, "all_reduce");
  ASSERT_EQ(reductions.size(), 2U);
  EXPECT_EQ(reductions.back().range, buckets.back().range);
  EXPECT_EQ(results[0].hashes, results[1].hashes);
}

TEST(TrainingRun, GathersUpdatedParametersBucketByBucketUnderZero2) {
  const TrainingCase here = two_steps(kZero2, 2);
  const auto buckets = plan_of(here).buckets;
  const EventLog events = train(here).front().events;
  const auto gathers = only(events, "all_gather");
  ASSERT_EQ(gathers.size(), buckets.size());
  for (std::size_t i = 0; i < buckets.size(); ++i) EXPECT_EQ(gathers[i].range, buckets[i].range);
  // All are on their way before the first is waited for.
  EXPECT_LT(place_of(events, "all_gather", gathers.back().number),
            place_of(events, "wait", gathers.front().number));
  const auto scalars = only(events, "all_reduce");
  ASSERT_EQ(scalars.size(), 1U);
  EXPECT_EQ(scalars.front().range, (ParameterRange{0, 1}));
}

TEST(TrainingRun, GathersASegmentAheadUnderZero3) {
  const ParameterTable table(kSmall);
  const EventLog events = train(two_steps(kZero3, 2)).front().events;
  for (int segment = 1; segment <= 3; ++segment) {
    std::vector<Event> gathers = only(events, "all_gather");
    std::erase_if(gathers,
                  [&](const Event& event) { return event.range != table.segment_range(segment); });
    ASSERT_EQ(gathers.size(), 2U) << segment;
    const auto check = [&](const Event& gather, const char* pass, int before) {
      const std::size_t start = place_of(events, "all_gather", gather.number);
      const std::size_t wait = place_of(events, "wait", gather.number);
      EXPECT_LT(start, place_of(events, pass, before)) << segment;
      EXPECT_GT(wait, place_of(events, pass, before)) << segment;
      EXPECT_LT(wait, place_of(events, pass, segment)) << segment;
    };
    check(gathers[0], "forward", segment - 1);
    check(gathers[1], "backward", segment + 1);
  }
}

TEST(TrainingRun, ProgressesAfterEverySegment) {
  for (const TrainingStrategy strategy : kCommunicating) {
    const EventLog events = train(two_steps(strategy, 2)).front().events;
    EXPECT_EQ(only(events, "progress").size(), 10U);
  }
}

/// Finds the ranks whose part of the sums is not what the one rank gave that contributed.
std::vector<int> wrong_sums(const std::vector<RankResult>& results) {
  std::vector<int> wrong;
  for (std::size_t rank = 0; rank < results.size(); ++rank) {
    for (std::size_t from = 0; from < results.size(); ++from) {
      if (results[rank].sum_hashes[from] == results[from].own_hashes[rank]) continue;
      wrong.push_back(static_cast<int>(rank));
      break;
    }
  }
  return wrong;
}

TEST(TrainingRun, BringsGradientsOfOneRankToTheirOwnersAsTheyAre) {
  for (const TrainingStrategy strategy : kCommunicating) {
    for (const int ranks : {2, 4}) {
      TrainingCase checked = two_steps(strategy, ranks);
      checked.hashes_gradients = true;
      EXPECT_THAT(wrong_sums(train(checked)), ::testing::IsEmpty())
          << name_of(strategy) << " on " << ranks;
      checked.spoiled_sums_of = 1;
      EXPECT_THAT(wrong_sums(train(checked)), ::testing::ElementsAre(1)) << name_of(strategy);
    }
  }
  TrainingCase odd = two_steps(kDdp, 3);
  odd.hashes_gradients = true;
  EXPECT_THAT(wrong_sums(train(odd)), ::testing::IsEmpty());
}

TEST(TrainingRun, RefusesWhatDoesNotFit) {
  TrainingCase wrong = training(kZero3, 3);
  try {
    train(wrong);
    FAIL() << "nothing was thrown";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("zero3"));
    EXPECT_THAT(error.advice(), HasSubstr("2, 4 or 8 ranks"));
  }
  wrong.settings.strategy = kZero2;
  EXPECT_THROW(train(wrong), UsageError);
  wrong = training(kDdp, 2);
  wrong.settings.steps = 0;
  EXPECT_THROW(train(wrong), UsageError);
}

TEST(TrainingSettings, AreThoseOfTheTrainer) {
  const TrainingSettings settings;
  EXPECT_EQ(settings.strategy, kDdp);
  EXPECT_EQ(settings.steps, 200);
  EXPECT_EQ(settings.optimizer.learning_rate, 5e-5);
  EXPECT_EQ(settings.optimizer.largest_norm, 1.0);
}

// The doubles must catch what they are for.

/// Two ranks, driven by one thread.
struct TwoRanks {
  ThreadExchange exchange{2};
  EventLog log;
  ThreadCommunication first{exchange, 0, log};
  ThreadCommunication second{exchange, 1, log};
  std::vector<double> ours{1, 2, 3, 4, 5, 6};
  std::vector<double> theirs{10, 20, 30, 40, 50, 60};

  static FlatMemory memory(std::vector<double>& values) {
    return {values.data(), DataType::float64, static_cast<std::int64_t>(values.size())};
  }
};

constexpr ParameterRange kMiddle{1, 4};

TEST(ThreadCommunication, SumsAtTheWait) {
  TwoRanks ranks;
  const auto ticket = ranks.first.all_reduce(TwoRanks::memory(ranks.ours), kMiddle);
  const auto other = ranks.second.all_reduce(TwoRanks::memory(ranks.theirs), kMiddle);
  EXPECT_TRUE(is_poison(ranks.ours[1]) && is_poison(ranks.ours[4]));
  ranks.first.wait(ticket);
  EXPECT_EQ(ranks.ours, (std::vector<double>{1, 22, 33, 44, 55, 6}));
  EXPECT_TRUE(is_poison(ranks.theirs[1]));
  ranks.second.wait(other);
  EXPECT_EQ(ranks.theirs, (std::vector<double>{10, 22, 33, 44, 55, 60}));
  EXPECT_EQ(ranks.first.sent_bytes(), 32.0);
}

TEST(ThreadCommunication, LeavesOnlyTheShardAfterReduceScatter) {
  TwoRanks ranks;
  ranks.first.reduce_scatter(TwoRanks::memory(ranks.ours), kMiddle);
  ranks.second.wait(ranks.second.reduce_scatter(TwoRanks::memory(ranks.theirs), kMiddle));
  EXPECT_TRUE(is_poison(ranks.theirs[1]) && is_poison(ranks.theirs[2]));
  EXPECT_EQ(ranks.theirs[3], 44);
  EXPECT_EQ(ranks.theirs[4], 55);
  EXPECT_EQ(ranks.second.sent_bytes(), 16.0);
}

TEST(ThreadCommunication, GathersShards) {
  TwoRanks ranks;
  const auto ticket = ranks.first.all_gather(TwoRanks::memory(ranks.ours), kMiddle);
  ranks.second.all_gather(TwoRanks::memory(ranks.theirs), kMiddle);
  EXPECT_TRUE(is_poison(ranks.ours[2]) && is_poison(ranks.ours[3]));
  ranks.first.wait(ticket);
  EXPECT_EQ(ranks.ours, (std::vector<double>{1, 2, 3, 40, 50, 6}));
}

TEST(ThreadCommunication, FindsWritesWhileAnOperationIsUnderWay) {
  TwoRanks ranks;
  const auto ticket = ranks.first.all_gather(TwoRanks::memory(ranks.ours), kMiddle);
  ranks.second.all_gather(TwoRanks::memory(ranks.theirs), kMiddle);
  ranks.ours[1] = 7;
  EXPECT_THROW(ranks.first.wait(ticket), std::logic_error);
}

TEST(ThreadCommunication, FindsMisuse) {
  TwoRanks ranks;
  const auto ticket = ranks.first.all_reduce(TwoRanks::memory(ranks.ours), kMiddle);
  EXPECT_THROW(ranks.first.all_gather(TwoRanks::memory(ranks.ours), {4, 2}), std::logic_error);
  EXPECT_THROW(ranks.second.all_reduce(TwoRanks::memory(ranks.theirs), {0, 4}), std::logic_error);
  ranks.second.all_reduce(TwoRanks::memory(ranks.theirs), kMiddle);
  ranks.first.wait(ticket);
  EXPECT_THROW(ranks.first.wait(ticket), std::logic_error);
}

TEST(ThreadCommunication, DoesNotWaitForARankThatFailed) {
  TwoRanks ranks;
  const auto ticket = ranks.first.all_reduce(TwoRanks::memory(ranks.ours), kMiddle);
  std::thread other([&] { ranks.exchange.give_up(); });
  EXPECT_THROW(ranks.first.wait(ticket), std::runtime_error);
  other.join();
}

/// A model that has the first half of its parameters, at the begin of a step.
struct HalfModel {
  EventLog log;
  WatchedModel model{make_reference_model({kSmall, {1, 8}, 0.0, 5}), log};
  std::vector<double> values = parameters_of(model);

  HalfModel() {
    const ParameterRange half = shard_of(all_of(model), 0, 2);
    model.keep_only({&half, 1});
    const auto tokens = generated_batch(kSmall, {}, {1, 8});
    model.begin_step({.tokens = tokens});
  }

  void put_back(int segment) {
    const ParameterRange range = model.table().segment_range(segment);
    auto* const parameters = static_cast<double*>(model.parameters().data);
    std::copy_n(values.begin() + range.offset, range.count, parameters + range.offset);
  }
};

TEST(WatchedModel, RefusesASegmentWithoutItsParameters) {
  HalfModel half;
  half.model.forward(0);
  half.model.forward(1);
  EXPECT_THROW(half.model.forward(2), std::logic_error);
}

TEST(WatchedModel, RefusesParametersThatItWasNotToldOf) {
  HalfModel half;
  half.model.forward(0);
  half.model.forward(1);
  half.put_back(2);
  EXPECT_THROW(half.model.forward(2), std::logic_error);
  half.model.parameters_changed(half.model.table().segment_range(2));
  EXPECT_NO_THROW(half.model.forward(2));
}

TEST(WatchedModel, TakesParametersAwayAfterForward) {
  HalfModel half;
  OrderListener listener;
  half.model.forward(0);
  half.model.forward(1);
  for (int segment = 2; segment <= 4; ++segment) {
    half.put_back(segment);
    half.model.parameters_changed(half.model.table().segment_range(segment));
    half.model.forward(segment);
  }
  EXPECT_NO_THROW(half.model.backward(4, listener));
  EXPECT_THROW(half.model.backward(3, listener), std::logic_error);
}

}  // namespace
}  // namespace linkgain::test

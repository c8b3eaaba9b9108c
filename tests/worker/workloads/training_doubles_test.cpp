#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "training_ranks.hpp"

/// The doubles must catch what they are for.
namespace linkgain::test {
namespace {

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

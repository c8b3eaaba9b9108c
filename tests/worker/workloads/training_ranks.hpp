#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "linkgain/model/reference_model.hpp"
#include "training_run.hpp"
#include "watched_model.hpp"
#include "worker/model/model_steps.hpp"

namespace linkgain::test {

inline constexpr Gpt2Config kSmall{
    .vocabulary = 40, .positions = 8, .channels = 16, .layers = 3, .heads = 2};

/// A training of the reference model, with what is not about strategies.
struct TrainingCase {
  TrainingSettings settings;
  int ranks = 2;
  BatchShape shape{2, 8};
  Gpt2Config config = kSmall;
  double dropout = 0.1;
  bool tells_late = false;
  int steps = 5;                       ///< to run
  bool hashes_gradients = false;       ///< after them
  std::optional<int> spoiled_sums_of;  ///< a rank
};

/// What a rank saw.
struct RankResult {
  std::vector<double> losses;  ///< after each step
  std::vector<std::uint64_t> hashes;
  std::vector<double> parameters;         ///< after the last step
  EventLog events;                        ///< of the last step
  double sent_bytes = 0.0;                ///< in the last step
  std::size_t in_flight = 0;              ///< after it
  std::vector<std::uint64_t> own_hashes;  ///< of each rank's part of this rank's gradients
  std::vector<std::uint64_t> sum_hashes;  ///< of this rank's part, where one rank contributes
};

/// One rank's part, of which `log` is to hear.
inline TrainingRun make_run(const TrainingCase& training,
                            std::unique_ptr<TrainingCommunication> communication, EventLog& log) {
  auto model = std::make_unique<WatchedModel>(
      make_reference_model({training.config, training.shape, training.dropout, 5}), log);
  WatchedModel& watched = *model;
  TrainingRun run({std::move(model), std::move(communication),
                   generated_tokens(training.config.vocabulary, 11)},
                  training.settings);
  if (training.settings.strategy == TrainingStrategy::zero3) watched.keep_only(run.owned());
  if (training.tells_late) watched.tell_late();
  return run;
}

inline RankResult train_rank(const TrainingCase& training, ThreadExchange& exchange, int rank) {
  EventLog log;
  auto communication = std::make_unique<ThreadCommunication>(exchange, rank, log);
  if (training.spoiled_sums_of == rank) communication->spoil_sums();
  const ThreadCommunication& link = *communication;
  TrainingRun run = make_run(training, std::move(communication), log);
  RankResult result;
  for (int step = 0; step < training.steps; ++step) {
    log.clear();
    const double before = link.sent_bytes();
    run.run_step(step);
    result.events = log;
    result.sent_bytes = link.sent_bytes() - before;
    result.in_flight = link.in_flight();
    result.losses.push_back(run.read_loss());
    run.gather_parameters();
    result.hashes.push_back(run.model().parameter_hash());
  }
  result.parameters = parameters_of(run.model());
  if (!training.hashes_gradients) return result;
  result.own_hashes = run.hash_own_gradients(training.steps);
  for (int from = 0; from < training.ranks; ++from) {
    result.sum_hashes.push_back(run.hash_summed_gradients(training.steps, rank == from));
  }
  return result;
}

/// The same on one rank with the samples of all.
inline TrainingCase one_rank(TrainingCase like) {
  like.shape.samples *= like.ranks;
  like.ranks = 1;
  like.settings.strategy = TrainingStrategy::none;
  return like;
}

/// Every rank's result. Throws what the first rank threw that failed.
inline std::vector<RankResult> train(const TrainingCase& training) {
  ThreadExchange exchange(training.ranks);
  std::vector<RankResult> results(static_cast<std::size_t>(training.ranks));
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&](int rank) {
    try {
      results[static_cast<std::size_t>(rank)] = train_rank(training, exchange, rank);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      exchange.give_up();
    }
  };
  std::vector<std::thread> threads;
  for (int rank = 0; rank < training.ranks; ++rank) threads.emplace_back(work, rank);
  for (std::thread& thread : threads) thread.join();
  if (failure) std::rethrow_exception(failure);
  return results;
}

// Losses are sums over 32 to 128 tokens; AdamW divides gradients by their own size or 1e-8, so that
// differences of 1e-17 grow to 1e-9 of the learning rate.
inline void expect_near(const std::vector<double>& values, const std::vector<double>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], expected[i], 1e-10) << i;
}

/// The mean loss of all ranks after each step.
inline std::vector<double> mean_losses(const std::vector<RankResult>& results) {
  std::vector<double> means(results.front().losses.size(), 0.0);
  for (const RankResult& result : results) {
    for (std::size_t i = 0; i < means.size(); ++i) {
      means[i] += result.losses[i] / static_cast<double>(results.size());
    }
  }
  return means;
}

}  // namespace linkgain::test

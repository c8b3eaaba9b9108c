#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "linkgain/model/training_model.hpp"
#include "linkgain/workloads/training_operation.hpp"
#include "thread_communication.hpp"
#include "worker/model/model_steps.hpp"

namespace linkgain::test {

/// Passes all on to a float64 model in host memory and refuses to compute a segment whose
/// parameters are not there, or are not those that the model was told of: one in less precision has
/// copies of its own.
class WatchedModel : public TrainingModel {
 public:
  WatchedModel(std::unique_ptr<TrainingModel> model, EventLog& log)
      : model_(std::move(model)), log_(log) {
    learn({0, model_->table().count()});
  }

  /// Poisons from now on all parameters outside of `owned` when a step begins, and those of a
  /// segment after its forward and its backward. The token embedding, once gathered for the last
  /// segment, stays until backward has ended.
  void keep_only(std::span<const ParameterRange> owned) {
    is_owned_.assign(known_.size(), false);
    for (const ParameterRange& range : owned) {
      std::fill_n(is_owned_.begin() + range.offset, range.count, true);
    }
  }

  /// Tells of a segment's gradients when all are final, in turned order.
  void tell_late() { tells_late_ = true; }

 private:
  class LateListener : public GradientListener {
   public:
    std::vector<int> tensors;

   private:
    void do_gradient_is_final(int tensor) override { tensors.push_back(tensor); }
  };

  const ParameterTable& do_table() const override { return model_->table(); }
  BatchShape do_shape() const override { return model_->shape(); }
  FlatMemory do_parameters() override { return model_->parameters(); }
  FlatMemory do_gradients() override { return model_->gradients(); }
  FlatMemory do_squared_norm() override { return model_->squared_norm(); }
  FlatMemory do_loss() override { return model_->loss(); }
  void do_clear_squared_norm() override { model_->clear_squared_norm(); }
  void do_add_squared_norm(const ParameterRange& range) override {
    model_->add_squared_norm(range);
  }
  void do_synchronize() override { model_->synchronize(); }
  double do_read_loss() override { return model_->read_loss(); }
  void* do_stream() override { return model_->stream(); }
  void do_start_timing() override { model_->start_timing(); }
  Seconds do_stop_timing() override { return model_->stop_timing(); }
  std::uint64_t do_parameter_hash() override { return model_->parameter_hash(); }
  std::uint64_t do_gradient_hash(const ParameterRange& range) override {
    return model_->gradient_hash(range);
  }

  void do_begin_step(const StepInput& input) override {
    release({0, table().count()});
    model_->begin_step(input);
  }

  void do_forward(int segment) override {
    require_parameters(segment);
    log_.push_back({"forward", segment, {}});
    model_->forward(segment);
    if (segment + 1 < table().segments()) release(table().segment_range(segment));
  }

  void do_backward(int segment, GradientListener& listener) override {
    require_parameters(segment);
    log_.push_back({"backward", segment, {}});
    if (tells_late_) {
      LateListener late;
      model_->backward(segment, late);
      std::ranges::reverse(late.tensors);
      for (const int tensor : late.tensors) listener.gradient_is_final(tensor);
    } else {
      model_->backward(segment, listener);
    }
    log_.push_back({"backward ended", segment, {}});
    release(table().segment_range(segment));
  }

  void do_parameters_changed(const ParameterRange& range) override {
    learn(range);
    model_->parameters_changed(range);
  }

  void do_update(const ParameterRange& range, const OptimizerStep& step) override {
    model_->update(range, step);
    learn(range);
  }

  void do_read_parameters(const ParameterRange& range, double* values) override {
    model_->read_parameters(range, values);
  }
  void do_read_gradients(const ParameterRange& range, double* values) override {
    model_->read_gradients(range, values);
  }
  void do_write_parameters(const ParameterRange& range, const double* values) override {
    model_->write_parameters(range, values);
    learn(range);
  }

  double* values() { return static_cast<double*>(model_->parameters().data); }

  void learn(const ParameterRange& range) {
    known_.resize(static_cast<std::size_t>(table().count()));
    std::copy_n(values() + range.offset, range.count, known_.begin() + range.offset);
  }

  void release(const ParameterRange& range) {
    if (is_owned_.empty()) return;
    for (std::int64_t i = range.offset; i < range.end(); ++i) {
      if (!is_owned_[static_cast<std::size_t>(i)]) poison(values() + i, 1);
    }
    learn(range);
  }

  void require_parameters(int segment) {
    require(table().segment_range(segment));
    if (table().reads_token_embedding(segment)) {
      require(table().tensor(TensorKind::token_embedding).range());
    }
  }

  void require(const ParameterRange& range) {
    const double* const begin = values() + range.offset;
    if (std::any_of(begin, begin + range.count, is_poison)) {
      throw std::logic_error("a segment computes with parameters that are not there");
    }
    const auto bytes = static_cast<std::size_t>(range.count) * sizeof(double);
    if (std::memcmp(begin, known_.data() + range.offset, bytes) != 0) {
      throw std::logic_error("the model was not told of parameters that changed");
    }
  }

  std::unique_ptr<TrainingModel> model_;
  EventLog& log_;
  std::vector<double> known_;  ///< the parameters as the model was last told of them
  std::vector<bool> is_owned_;
  bool tells_late_ = false;
};

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

/// Makes one rank's part, of which `log` is to hear.
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

/// Puts the same on one rank with the samples of all.
inline TrainingCase one_rank(TrainingCase like) {
  like.shape.samples *= like.ranks;
  like.ranks = 1;
  like.settings.strategy = TrainingStrategy::none;
  return like;
}

/// Returns every rank's result. Throws what the first rank threw that failed.
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

// Allows 1e-10: losses are sums over 32 to 128 tokens; AdamW divides gradients by their own size or
// 1e-8, so that differences of 1e-17 grow to 1e-9 of the learning rate.
inline void expect_near(const std::vector<double>& values, const std::vector<double>& expected) {
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], expected[i], 1e-10) << i;
}

/// Returns the mean loss of all ranks after each step.
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

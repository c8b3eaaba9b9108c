#include "training_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "linkgain/base/errors.hpp"

namespace linkgain {
namespace {

TrainingSettings validated(const TrainingSettings& settings) {
  if (settings.steps < 1) {
    throw UsageError(fmt::format("a training of {} steps", settings.steps), "take 1 or more");
  }
  return settings;
}

/// Returns what `rank` updates of each bucket.
std::vector<ParameterRange> ranges_of(TrainingStrategy strategy, const StrategyPlan& plan, int rank,
                                      int ranks) {
  std::vector<ParameterRange> ranges;
  for (const GradientBucket& bucket : plan.buckets) {
    ranges.push_back(shards_optimizer(strategy) ? shard_of(bucket.range, rank, ranks)
                                                : bucket.range);
  }
  return ranges;
}

class NoListener : public GradientListener {
 private:
  void do_gradient_is_final(int) override {}
};

}  // namespace

/// Reduces each bucket as soon as its gradients are final and the buckets before it are under way,
/// as PyTorch does: the order is then the same on all ranks.
class TrainingRun::BucketReduction : public GradientListener {
 public:
  explicit BucketReduction(TrainingRun& run)
      : run_(run), bucket_of_(run.model().table().tensors().size()) {
    for (std::size_t i = 0; i < run.plan().buckets.size(); ++i) {
      const GradientBucket& bucket = run.plan().buckets[i];
      missing_.push_back(bucket.tensors.size());
      for (const int tensor : bucket.tensors) bucket_of_[static_cast<std::size_t>(tensor)] = i;
    }
  }

  /// Has the model's next work wait for the bucket.
  void finish(std::size_t bucket) {
    if (bucket >= tickets_.size()) throw std::logic_error("backward left gradients unfinished");
    if (tickets_[bucket]) run_.communication().wait(*tickets_[bucket]);
  }

 private:
  void do_gradient_is_final(int tensor) override {
    --missing_[bucket_of_[static_cast<std::size_t>(tensor)]];
    while (tickets_.size() < missing_.size() && missing_[tickets_.size()] == 0) {
      tickets_.push_back(start(run_.plan().buckets[tickets_.size()].range));
    }
  }

  std::optional<CommunicationTicket> start(const ParameterRange& range) {
    switch (run_.settings().strategy) {
      case TrainingStrategy::none:
        return std::nullopt;
      case TrainingStrategy::ddp:
        return run_.communication().all_reduce(run_.model().gradients(), range);
      case TrainingStrategy::zero2:
      case TrainingStrategy::zero3:
        return run_.communication().reduce_scatter(run_.model().gradients(), range);
    }
    throw std::invalid_argument("no such strategy");
  }

  TrainingRun& run_;
  std::vector<std::size_t> bucket_of_;  ///< of each tensor
  std::vector<std::size_t> missing_;    ///< gradients of each bucket that are not final yet
  std::vector<std::optional<CommunicationTicket>> tickets_;  ///< of the buckets under way
};

TrainingRun::TrainingRun(TrainingParts parts, const TrainingSettings& settings)
    : parts_(std::move(parts)),
      settings_(validated(settings)),
      plan_(plan_strategy(settings.strategy, model().table(), settings.buckets,
                          model().gradients().type, communication().ranks())) {
  owned_ = ranges_of(settings.strategy, plan_, communication().rank(), communication().ranks());
  const BatchShape shape = model().shape();
  batch_.resize(static_cast<std::size_t>(shape.tokens() + shape.samples));
}

void TrainingRun::run_step(std::int64_t step) {
  const bool is_averaged = settings_.strategy != TrainingStrategy::none;
  begin_step(step, is_averaged ? 1.0 / communication().ranks() : 1.0);
  BucketReduction reduction(*this);
  run_passes(reduction);
  add_norms(reduction);
  update(step);
}

void TrainingRun::run_passes(GradientListener& listener) {
  start_gathers(plan_.passes.front().gathers);
  for (std::size_t i = 0; i < plan_.passes.size(); ++i) {
    finish_gathers();
    // One ahead: on its way while this pass computes.
    if (i + 1 < plan_.passes.size()) start_gathers(plan_.passes[i + 1].gathers);
    run_pass(plan_.passes[i], listener);
  }
}

std::vector<std::uint64_t> TrainingRun::hash_own_gradients(std::int64_t step) {
  NoListener nobody;
  begin_step(step, 1.0);
  run_passes(nobody);
  std::vector<std::uint64_t> hashes;
  for (int rank = 0; rank < communication().ranks(); ++rank) {
    hashes.push_back(hash_gradients_of(rank));
  }
  return hashes;
}

std::uint64_t TrainingRun::hash_summed_gradients(std::int64_t step, bool contributes) {
  begin_step(step, contributes ? 1.0 : 0.0);
  BucketReduction reduction(*this);
  run_passes(reduction);
  for (std::size_t i = 0; i < owned_.size(); ++i) reduction.finish(i);
  return hash_gradients_of(communication().rank());
}

std::uint64_t TrainingRun::hash_gradients_of(int rank) {
  std::uint64_t hash = 0;
  for (const ParameterRange& range :
       ranges_of(settings_.strategy, plan_, rank, communication().ranks())) {
    hash += model().gradient_hash(range);
  }
  return hash;
}

void TrainingRun::begin_step(std::int64_t step, double gradient_scale) {
  const int rank = communication().rank();
  const int ranks = communication().ranks();
  const BatchShape shape = model().shape();
  read_batch(*parts_.tokens, {step, rank, ranks}, shape, batch_);
  model().begin_step({.tokens = batch_,
                      .step = step,
                      .first_sample = std::int64_t{rank} * shape.samples,
                      .gradient_scale = gradient_scale});
}

void TrainingRun::run_pass(const SegmentPass& pass, GradientListener& listener) {
  if (pass.is_backward) {
    model().backward(pass.segment, listener);
  } else {
    model().forward(pass.segment);
  }
  communication().progress();
}

/// Computes the norms of the buckets before the last while those are on their way.
void TrainingRun::add_norms(BucketReduction& reduction) {
  model().clear_squared_norm();
  for (std::size_t i = 0; i < owned_.size(); ++i) {
    reduction.finish(i);
    model().add_squared_norm(owned_[i]);
  }
  if (!shards_optimizer(settings_.strategy)) return;
  communication().wait(communication().all_reduce(model().squared_norm(), {0, 1}));
}

void TrainingRun::update(std::int64_t step) {
  const OptimizerStep rates = optimizer_step(settings_.optimizer, step, settings_.steps);
  for (std::size_t i = 0; i < owned_.size(); ++i) {
    model().update(owned_[i], rates);
    // Starts after the update of its own bucket and overlaps that of the next.
    if (settings_.strategy == TrainingStrategy::zero2) start_gathers({&plan_.buckets[i].range, 1});
  }
  finish_gathers();
}

void TrainingRun::start_gathers(std::span<const ParameterRange> ranges) {
  for (const ParameterRange& range : ranges) {
    gathers_.push_back({communication().all_gather(model().parameters(), range), range});
  }
}

void TrainingRun::finish_gathers() {
  for (const Gather& gather : gathers_) {
    communication().wait(gather.ticket);
    model().parameters_changed(gather.range);
  }
  gathers_.clear();
}

void TrainingRun::gather_parameters() {
  if (settings_.strategy != TrainingStrategy::zero3) return;
  for (const GradientBucket& bucket : plan_.buckets) start_gathers({&bucket.range, 1});
  finish_gathers();
}

std::string problem_of_gradients(int from, std::uint64_t found, std::uint64_t expected) {
  if (found == expected) return {};
  return fmt::format(
      "gradients of rank {} alone came out of communication with hash {:x} instead of {:x}", from,
      found, expected);
}

std::string problem_of_parameters(std::span<const std::uint64_t> hashes, int rank) {
  const auto count = [&](std::uint64_t hash) { return std::ranges::count(hashes, hash); };
  // The first of the most frequent ones.
  const std::uint64_t expected = *std::ranges::max_element(hashes, {}, count);
  const std::uint64_t own = hashes[static_cast<std::size_t>(rank)];
  if (own == expected) return {};
  std::vector<std::size_t> right;
  for (std::size_t i = 0; i < hashes.size(); ++i) {
    if (hashes[i] == expected) right.push_back(i);
  }
  return fmt::format("parameters after a step have hash {:x}, those of {} {} have {:x}", own,
                     right.size() == 1 ? "rank" : "ranks", fmt::join(right, ", "), expected);
}

}  // namespace linkgain

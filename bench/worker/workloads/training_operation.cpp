#include "linkgain/workloads/training_operation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"

#ifdef LINKGAIN_HAVE_GPU
#include "linkgain/model/gpu_model.hpp"
#endif

namespace linkgain {
namespace {

constexpr std::uint64_t kWeightSeed = 20240520;
constexpr std::uint64_t kTokenSeed = 101;

/// Steps beside those of the blocks: before the first one, and of the check at the end.
constexpr std::int64_t kStepsBeside = 8;

BatchShape shape_of(const TrainingParameters& training) {
  return {training.samples, training.length};
}

std::unique_ptr<TrainingModel> make_model(const TrainingParameters& training,
                                          [[maybe_unused]] const std::vector<std::string>& products,
                                          [[maybe_unused]] const kernels::WaitBound& bound) {
  const Gpt2Config config = gpt2_config(training.model);
  if (training.precision == TrainingPrecision::fp64) {
    return make_reference_model({config, shape_of(training), training.dropout, kWeightSeed});
  }
#ifdef LINKGAIN_HAVE_GPU
  GpuModelOptions options;
  options.config = config;
  options.shape = shape_of(training);
  options.precision = precision_on_gpu(training.precision);
  options.dropout = training.dropout;
  options.seed = kWeightSeed;
  options.products = products;
  options.bound = bound;
  return make_gpu_model(options);
#else
  throw MachineError(fmt::format("{} is computed by GPUs, which this build knows nothing of",
                                 name_of(training.precision)),
                     "install CUDA and NCCL and build again, or use --backend mpi");
#endif
}

std::unique_ptr<TokenSource> make_tokens(const TrainingParameters& training,
                                         const TrainingPlan& plan) {
  const int vocabulary = gpt2_config(training.model).vocabulary;
  if (plan.tokens.empty()) return generated_tokens(vocabulary, kTokenSeed);
  std::unique_ptr<TokenSource> source = read_token_file(plan.tokens, vocabulary);
  // A file without one whole sequence is refused here, where all ranks agree on it.
  std::vector<std::int32_t> sequence(static_cast<std::size_t>(training.length) + 1);
  source->read_sequence(0, sequence);
  return source;
}

TrainingSettings settings_of(const TrainingParameters& training, const TrainingPlan& plan) {
  TrainingSettings settings;
  settings.strategy = training.strategy;
  settings.buckets = bucket_settings(training);
  // One step in each block is not timed.
  settings.steps = plan.steps + plan.steps / kStepsPerBlock + kStepsBeside;
  return settings;
}

class TrainingOperation : public Operation {
 public:
  TrainingOperation(Session& session, Backend& backend, const Case& c, const TrainingPlan& plan,
                    const std::vector<std::string>& products)
      : session_(session),
        backend_(backend),
        settings_(settings_of(*c.training, plan)),
        parts_{make_model(*c.training, products, backend.wait_bound()), nullptr,
               make_tokens(*c.training, plan)} {}

 private:
  void do_prepare() override {
    parts_.communication = backend_.open_training_communication(parts_.model->stream());
    run_.emplace(std::move(parts_), settings_);
  }

  void do_warm_up() override { do_run(1); }

  std::optional<Seconds> do_time_batch(std::int64_t operations) override {
    step();
    run_->model().start_timing();
    for (std::int64_t i = 0; i < operations; ++i) step();
    const Seconds time = run_->model().stop_timing();
    backend_.require_waits();
    return time;
  }

  void do_run(std::int64_t operations) override {
    for (std::int64_t i = 0; i < operations; ++i) step();
    run_->synchronize();
    backend_.require_waits();
  }

  std::int64_t do_granularity() const override { return 1; }
  std::optional<std::int64_t> do_fixed_batch() const override { return kStepsPerBlock; }
  std::optional<double> do_loss() override { return run_->read_loss(); }

  Execution do_execution() const override {
    Execution execution;
    execution.discarded_per_sample = 1;
    execution.products = run_->model().products();
    return execution;
  }

  /// Assumes that buckets go by rings and protocol Simple, whatever NCCL's log says of single
  /// calls. With NVLink multicast (NVLS), which more than two ranks may use, less is sent: nothing
  /// is known then. Without communication there is nothing to know.
  std::optional<TransferPlan> do_plan() const override {
    if (settings_.strategy == TrainingStrategy::none) return TransferPlan{};
    const char* const multicast = std::getenv("NCCL_NVLS_ENABLE");
    const bool is_off = multicast != nullptr && std::string_view(multicast) == "0";
    if (session_.ranks() > 2 && !is_off) return TransferPlan{};
    return TransferPlan{.algorithm = {}, .protocol = std::string(kSimple)};
  }

  Verification do_verify(Spoil spoil) override {
    Verification result;
    result.checked = 1;  // this rank
    const bool alone = settings_.strategy == TrainingStrategy::none;
    std::string problem = alone ? "" : problem_of_sums();
    do_run(1);
    run_->gather_parameters();
    if (spoil != Spoil::nothing) corrupt_parameter();
    if (!alone) {
      const std::string parameters = problem_after_step();
      if (problem.empty()) problem = parameters;
    }
    const double loss = run_->read_loss();
    if (problem.empty() && !std::isfinite(loss)) {
      problem = std::isnan(loss) ? "the loss is nan" : "the loss is infinite";
    }
    if (problem.empty()) return result;
    result.wrong = 1;
    result.first_wrong = problem;
    return result;
  }

  /// Returns whether communication brings every rank, of what it owns, the very gradients of the
  /// one rank that contributes some, whichever that is.
  std::string problem_of_sums() {
    std::string own;
    for (const std::uint64_t hash : run_->hash_own_gradients(next_step_)) {
      own += fmt::format("{} ", hash);
    }
    const std::vector<std::string> all = session_.share(own);
    std::string problem;
    for (int from = 0; from < session_.ranks(); ++from) {
      const std::uint64_t sum = run_->hash_summed_gradients(next_step_, session_.rank() == from);
      const std::vector<std::string> expected = split(all[static_cast<std::size_t>(from)], ' ');
      const std::string& mine = expected[static_cast<std::size_t>(session_.rank())];
      if (problem.empty()) problem = problem_of_gradients(from, sum, std::stoull(mine));
    }
    return problem;
  }

  /// Compares the parameters of all ranks, which must be the same after a step and are gathered.
  std::string problem_after_step() {
    std::vector<std::uint64_t> hashes;
    for (const std::string& hash :
         session_.share(fmt::format("{}", run_->model().parameter_hash()))) {
      hashes.push_back(std::stoull(hash));
    }
    return problem_of_parameters(hashes, session_.rank());
  }

  void corrupt_parameter() {
    double value = 0.0;
    run_->model().read_parameters({0, 1}, &value);
    value += 1.0;
    run_->model().write_parameters({0, 1}, &value);
  }

  void step() { run_->run_step(next_step_++); }

  Session& session_;
  Backend& backend_;
  TrainingSettings settings_;
  TrainingParts parts_;
  std::optional<TrainingRun> run_;
  std::int64_t next_step_ = 0;
};

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

std::unique_ptr<Operation> make_training_operation(Session& session, Backend& backend,
                                                   const Case& c, const TrainingPlan& plan,
                                                   const std::vector<std::string>& products) {
  return std::make_unique<TrainingOperation>(session, backend, c, plan, products);
}

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

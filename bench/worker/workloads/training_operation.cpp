#include "linkgain/workloads/training_operation.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/model/reference_model.hpp"
#include "training_run.hpp"

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

  Verification do_verify(Spoil spoil) override;
  std::string problem_of_sums();
  std::string problem_after_step();
  void corrupt_parameter();

  void step() { run_->run_step(next_step_++); }

  Session& session_;
  Backend& backend_;
  TrainingSettings settings_;
  TrainingParts parts_;
  std::optional<TrainingRun> run_;
  std::int64_t next_step_ = 0;
};

/// Returns whether communication brings every rank, of what it owns, the very gradients of the one
/// rank that contributes some, whichever that is.
std::string TrainingOperation::problem_of_sums() {
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
std::string TrainingOperation::problem_after_step() {
  std::vector<std::uint64_t> hashes;
  for (const std::string& hash :
       session_.share(fmt::format("{}", run_->model().parameter_hash()))) {
    hashes.push_back(std::stoull(hash));
  }
  return problem_of_parameters(hashes, session_.rank());
}

void TrainingOperation::corrupt_parameter() {
  double value = 0.0;
  run_->model().read_parameters({0, 1}, &value);
  value += 1.0;
  run_->model().write_parameters({0, 1}, &value);
}

Verification TrainingOperation::do_verify(Spoil spoil) {
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

}  // namespace

std::unique_ptr<Operation> make_training_operation(Session& session, Backend& backend,
                                                   const Case& c, const TrainingPlan& plan,
                                                   const std::vector<std::string>& products) {
  return std::make_unique<TrainingOperation>(session, backend, c, plan, products);
}

}  // namespace linkgain

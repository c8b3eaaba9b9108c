#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/random/model_random.hpp"
#include "linkgain/gpt2/gpt2_config.hpp"

namespace linkgain {

/// AdamW of I. Loshchilov and F. Hutter (2019) with the defaults of transformers' Trainer: no
/// weight decay, gradients clipped to norm 1.
struct OptimizerSettings {
  double learning_rate = 5e-5;  ///< of the first step
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double largest_norm = 1.0;  ///< of the gradients of all ranks, averaged
};

/// What one step does to every parameter; computed once on the host.
struct OptimizerStep {
  double learning_rate = 0.0;
  double beta1 = 0.0;
  double beta2 = 0.0;
  double correction1 = 0.0;  ///< 1 - beta1^n in the n-th step: moments begin at 0
  double correction2 = 0.0;
  double epsilon = 0.0;
  double largest_norm = 0.0;
};

/// Returns the optimizer's settings for step `step` (from 0) of `steps`: the learning rate falls
/// linearly and would be 0 in the one after the last.
OptimizerStep optimizer_step(const OptimizerSettings& settings, std::int64_t step,
                             std::int64_t steps);

/// Returns what gradients are multiplied with so that their norm is not beyond `largest_norm`, as
/// PyTorch's clip_grad_norm_ does: largest / (norm + 1e-6), 1 at most.
double clip_factor(double squared_norm, double largest_norm);

/// Told of gradients as backward makes them final.
class GradientListener {
 public:
  virtual ~GradientListener() = default;

  /// Says that nothing adds to the gradient of tensors()[tensor] any more in this step. On a GPU
  /// the kernel that finishes it has been enqueued, no more: what reads it must wait for an event
  /// that is recorded now on the stream of the model.
  void gradient_is_final(int tensor) { do_gradient_is_final(tensor); }

 private:
  virtual void do_gradient_is_final(int tensor) = 0;
};

/// Told of the kinds of tensors whose gradients are final, in order: what models report within.
using GradientReport = std::function<void(TensorKind)>;

/// What one step of one rank computes.
struct StepInput {
  /// shape().samples rows of shape().length + 1, as read_batch() gives them. Host memory, free
  /// again when begin_step() returns.
  std::span<const std::int32_t> tokens;
  std::int64_t step = 0;  ///< from 0; dropout masks differ from step to step
  /// The first sample's number in the batch of all ranks: masks do not depend on who computes it.
  std::int64_t first_sample = 0;
  /// Gradients are those of the mean loss times this: with 1 / ranks, ranks' sum is their average.
  double gradient_scale = 1.0;
};

/// One rank's GPT-2 as the training strategies drive it:
///
///   begin_step, forward(0 … last), backward(last … 0), [add_squared_norm…], update…
///
/// Strategies communicate in between, in the memory that parameters(), gradients() and
/// squared_norm() name. On the CPU every call has done its work when it returns. On a GPU the calls
/// marked "enqueues" put kernels and copies on the model's own stream() and return at once. A
/// strategy must not assume
///  - that anything is computed when a call returns: only events on the stream, or synchronize(),
///    say so, and no step should contain the latter;
///  - that communication on another stream is seen by the model: the stream must wait for its
///    event, before the call that reads what it brought (forward and backward: the parameters of
///    their segment; add_squared_norm and update: gradients; update: squared_norm, which is read by
///    the device);
///  - that update() may overlap communication of the parameters that it writes;
///  - that memory outside of a segment's own range stays unread: see reads_token_embedding();
///  - that gradients are 0 where no one wrote: they are what the last step left until their
///    tensor is final.
/// Not thread-safe. Segments out of order and ranges outside of parameters() throw
/// std::logic_error, before the implementation is asked.
class TrainingModel {
 public:
  virtual ~TrainingModel() = default;

  const ParameterTable& table() const { return do_table(); }
  BatchShape shape() const { return do_shape(); }

  /// Returns table().count() elements. Parameters are what forward reads and what sharded
  /// strategies gather; a model that computes in less precision keeps copies of its own, which
  /// update() and parameters_changed() renew. Both have an element type of their own.
  FlatMemory parameters() { return do_parameters(); }
  FlatMemory gradients() { return do_gradients(); }
  /// Returns one element: what add_squared_norm() summed up.
  FlatMemory squared_norm() { return do_squared_norm(); }
  /// Returns one element: the mean loss of this rank's tokens, once forward of the last segment is
  /// done.
  FlatMemory loss() { return do_loss(); }

  /// Returns the cudaStream_t that all work of the model is put on; null where it computes on the
  /// CPU. The model's own, as long as that lives.
  void* stream() { return do_stream(); }

  /// Enqueues: a time stamp.
  void start_timing();
  /// Puts a second time stamp, waits for it, and returns the time that the device (on a CPU: the
  /// caller) spent between the two. Throws std::logic_error where start_timing() was not called.
  Seconds stop_timing();

  /// Enqueues a copy of the tokens.
  void begin_step(const StepInput& input);

  /// Enqueues. Segments from 0 on, each once; the last one includes the loss.
  void forward(int segment);

  /// Enqueues. Segments from the last to 0, each once; `listener` is told, within the call, of each
  /// of the segment's tensors in table().ready_order(). Gradients are overwritten, not added to.
  void backward(int segment, GradientListener& listener);

  /// Enqueues: others (a gather) wrote parameters in `range`. Needed before the segment's forward
  /// or backward only where that happened.
  void parameters_changed(const ParameterRange& range);

  void clear_squared_norm() { do_clear_squared_norm(); }

  /// Enqueues: squared_norm() += the sum of the squared gradients in `range`.
  void add_squared_norm(const ParameterRange& range);

  /// Enqueues AdamW on the parameters in `range`, with gradients clipped by squared_norm(). Ranges
  /// of one step may come in any order and in pieces, but must not overlap. The result of an
  /// element does not depend on the pieces.
  void update(const ParameterRange& range, const OptimizerStep& step);

  /// Waits for all that was enqueued and throws MachineError if that failed.
  void synchronize() { do_synchronize(); }

  /// Returns the algorithms of its matrix products, where it chose among several; another model of
  /// this shape that is to compute in the same way takes them over.
  std::vector<std::string> products() const { return do_products(); }

  /// Reads parameters for a check, as the next two do: they synchronize and convert. `values` has
  /// range.count elements.
  void read_parameters(const ParameterRange& range, double* values);
  void read_gradients(const ParameterRange& range, double* values);
  void write_parameters(const ParameterRange& range, const double* values);

  /// Synchronizes. The value of loss().
  double read_loss() { return do_read_loss(); }

  /// Synchronizes. The sum over parameters() of kernels::hash_contribution(): equal on all ranks
  /// exactly if (but for chance) all bits are.
  std::uint64_t parameter_hash() { return do_parameter_hash(); }

  /// Returns the same of the gradients in `range`, by their places in the whole; -0 counts as 0.
  std::uint64_t gradient_hash(const ParameterRange& range);

 protected:
  int last_segment() const { return table().segments() - 1; }

 private:
  // Implementations are asked for ranges that there are, for a step's segments in their order, and
  // for an end of a timing that began.
  virtual const ParameterTable& do_table() const = 0;
  virtual BatchShape do_shape() const = 0;
  virtual FlatMemory do_parameters() = 0;
  virtual FlatMemory do_gradients() = 0;
  virtual FlatMemory do_squared_norm() = 0;
  virtual FlatMemory do_loss() = 0;
  virtual void* do_stream() = 0;
  virtual void do_start_timing() = 0;
  virtual Seconds do_stop_timing() = 0;
  virtual void do_begin_step(const StepInput& input) = 0;
  virtual void do_forward(int segment) = 0;
  virtual void do_backward(int segment, GradientListener& listener) = 0;
  virtual void do_parameters_changed(const ParameterRange& range) = 0;
  virtual void do_clear_squared_norm() = 0;
  virtual void do_add_squared_norm(const ParameterRange& range) = 0;
  virtual void do_update(const ParameterRange& range, const OptimizerStep& step) = 0;
  virtual void do_synchronize() = 0;
  virtual std::vector<std::string> do_products() const { return {}; }
  virtual void do_read_parameters(const ParameterRange& range, double* values) = 0;
  virtual void do_read_gradients(const ParameterRange& range, double* values) = 0;
  virtual void do_write_parameters(const ParameterRange& range, const double* values) = 0;
  virtual double do_read_loss() = 0;
  virtual std::uint64_t do_parameter_hash() = 0;
  virtual std::uint64_t do_gradient_hash(const ParameterRange& range) = 0;

  static constexpr int kNone = -1;
  int next_forward_ = kNone;  ///< the segment whose turn it is
  int next_backward_ = kNone;
  bool is_timing_ = false;
};

/// Throws UsageError where `probability` is not from 0 on and below 1.
void validate_dropout(double probability);

struct ReferenceOptions {
  Gpt2Config config;
  BatchShape shape;
  double dropout = 0.1;    ///< probability at every place, 0 … 1, 1 excluded
  std::uint64_t seed = 0;  ///< of initial weights and dropout
};

/// Makes GPT-2 in double precision on one CPU core, in plain loops: what every other implementation
/// is compared with, and what trains if there is no GPU. Deterministic; gradients of one sample
/// count once whatever the batch. Throws UsageError for options that do not fit.
std::unique_ptr<TrainingModel> make_reference_model(const ReferenceOptions& options);

/// Returns GPT-2's initialisation: N(0, 0.02) for embeddings and weights, N(0, 0.02 / sqrt(2
/// layers)) for the two projections into the residual stream, 0 for biases, 1 and 0 for LayerNorms.
kernels::WeightDistribution initial_distribution(const Gpt2Config& config, TensorKind kind);

/// Writes every parameter into `parameters`, which has table.count() elements. Values are those of
/// kernels::initial_weight(), in single precision whatever the type of the model.
void write_initial_weights(const ParameterTable& table, std::uint64_t seed,
                           std::span<double> parameters);

}  // namespace linkgain

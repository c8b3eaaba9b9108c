#pragma once

#include <functional>
#include <vector>

#include "linkgain/gpt2/parameter_table.hpp"
#include "matrix_products.hpp"
#include "reference_layers.hpp"

namespace linkgain::reference {

/// One segment's tensors in a flat buffer of parameters or gradients.
struct Tensors {
  const ParameterTable* table;
  double* buffer;
  int block;

  double* at(TensorKind kind) const { return buffer + table->tensor(kind, block).offset; }
  Matrix matrix(TensorKind kind) const {
    const ParameterTensor& tensor = table->tensor(kind, block);
    return {buffer + tensor.offset, tensor.rows, tensor.columns};
  }
};

/// All masks of one step.
struct StepDropout {
  std::uint64_t seed;
  std::int64_t step;
  double probability;
  std::int64_t first_sample;

  /// At `place`, where a sample has `elements`.
  Dropout at(int place, std::int64_t elements) const {
    return {kernels::dropout_mask(seed, step, place, probability), first_sample * elements};
  }
};

/// Told of the kinds of tensors whose gradients are final, in order.
using Report = std::function<void(TensorKind)>;

/// One block: x + projection(attention(norm(x))), then the same with the feed-forward half. Keeps
/// what its backward needs of its last forward.
class Block {
 public:
  Block(const Gpt2Config& config, const BatchShape& shape, int index);

  void forward(const Tensors& parameters, const StepDropout& dropout, ConstMatrix input);

  /// tokens × channels, until the next forward.
  ConstMatrix output() const;

  /// `stream` is the gradient of the output, then that of the input.
  void backward(const Tensors& parameters, const Tensors& gradients, const StepDropout& dropout,
                Matrix stream, const Report& report);

 private:
  void forward_attention(const Tensors& parameters, const StepDropout& dropout, ConstMatrix input);
  void forward_feed_forward(const Tensors& parameters, const StepDropout& dropout);
  void backward_attention(const Tensors& parameters, const Tensors& gradients,
                          const StepDropout& dropout, Matrix stream, const Report& report);
  void backward_feed_forward(const Tensors& parameters, const Tensors& gradients,
                             const StepDropout& dropout, Matrix stream, const Report& report);
  Dropout probability_dropout(const StepDropout& dropout) const;
  Dropout stream_dropout(const StepDropout& dropout, int place) const;
  std::int64_t tokens() const { return shape_.samples * shape_.length; }
  Matrix rows(std::vector<double>& values) const;

  AttentionShape shape_;
  int index_;
  NormState attention_norm_;
  NormState feed_forward_norm_;
  std::vector<double> attention_input_;  ///< normalised
  std::vector<double> qkv_;
  std::vector<double> probabilities_;
  std::vector<double> dropped_probabilities_;
  std::vector<double> attention_;
  std::vector<double> middle_;              ///< after the attention half
  std::vector<double> feed_forward_input_;  ///< normalised
  std::vector<double> expanded_;
  std::vector<double> activated_;
  std::vector<double> output_;
};

}  // namespace linkgain::reference

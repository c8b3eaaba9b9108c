#pragma once

#include "gpu_products.hpp"
#include "gpu_state.hpp"
#include "linkgain/model/training_model.hpp"

// The segments of a model: embedding, blocks, head. Tokens are where the model left them.
namespace linkgain::on_gpu {

/// Puts the sum of token and position embeddings, with dropout, into the first block's input.
void embedding_forward(State& state);

/// Takes the gradient of the stream, and adds to the gradient of token_embedding. Adds to the
/// gradient of token_embedding.
void embedding_backward(State& state, const GradientReport& report);

/// One block. What its halves bring back into the residual stream is added by the norm that comes
/// next: that of the second half by the next block's first or the final one. So is, backward, the
/// gradient of the branch before it made by a norm, and with it that of the bias which ends it:
/// contraction_bias of a block is final when the segment behind it has done its backward.
class Block {
 public:
  Block(State& state, Products& products, int index);

  /// Goes from the stream in `input` (of the first block) or from `middle` and the branch of the
  /// block before, to `middle` and the branch.
  void forward();
  /// Goes from the gradients of stream and branch to those of the stream and branch before.
  void backward(const GradientReport& report);

 private:
  void forward_attention();
  void forward_feed_forward();
  void backward_feed_forward(const GradientReport& report);
  void backward_projection(const GradientReport& report);
  void backward_attention(const GradientReport& report);

  State& state_;
  Products& products_;
  int index_;
  BlockSpans spans_;
};

/// Computes the final norm, the logits, the loss, and the gradients of the logits in their place.
void head_forward(State& state, Products& products);

/// Goes to the gradients of stream and branch of the last block. Overwrites the gradient of
/// token_embedding, which is not final yet.
void head_backward(State& state, Products& products, const GradientReport& report);

}  // namespace linkgain::on_gpu

#pragma once

#include "gpu_products.hpp"
#include "gpu_state.hpp"

namespace linkgain::on_gpu {

/// One block. What its halves bring back into the residual stream is added by the norm that comes
/// next: that of the second half by the next block's first or the final one. So is, backward, the
/// gradient of the branch before it made by a norm, and with it that of the bias which ends it:
/// contraction_bias of a block is final when the segment behind it has done its backward.
class Block {
 public:
  Block(State& state, Products& products, int index);

  /// From the stream in `input` (of the first block) or from `middle` and the branch of the block
  /// before, to `middle` and the branch.
  void forward();
  /// From the gradients of stream and branch to those of the stream and branch before.
  void backward(const Report& report);

 private:
  void forward_attention();
  void forward_feed_forward();
  void backward_feed_forward(const Report& report);
  void backward_projection(const Report& report);
  void backward_attention(const Report& report);

  State& state_;
  Products& products_;
  int index_;
  BlockSpans spans_;
};

/// A norm that takes the stream `before` together with State's branch (the one of `place`) and
/// leaves their sum in `sum`.
void add_norm(State& state, const MemorySpan& before, int place, const MemorySpan& sum,
              const kernels::NormForward& norm);

/// What ends in the stream just before a norm: the bias of its last projection and its dropout.
struct BranchPlace {
  TensorKind bias;
  int block;
  int place;
};

/// Backward of a norm whose output's gradient is in State's branch; leaves there the gradient of
/// the branch before it, where there is one.
void norm_backward(State& state, const NormPlace& norm, const BranchPlace* branch,
                   bool overwrites_stream);

}  // namespace linkgain::on_gpu

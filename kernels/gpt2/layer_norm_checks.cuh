#pragma once

#include "kernels/gpt2/layer_norm.hpp"

namespace linkgain::kernels {

/// Whether LayerNorm's kernels can do it.
inline bool fits(const NormShape& shape) {
  return shape.rows >= 0 && shape.channels > 0 && shape.channels % kNormChannelStep == 0 &&
         shape.channels <= kMostNormChannels;
}

}  // namespace linkgain::kernels

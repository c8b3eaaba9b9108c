#pragma once

#include <cstdint>

#include "kernels/random/model_random.hpp"

namespace linkgain::kernels {

/// Dropout of a row-major matrix: element i of it is element first + i of the mask. A batch's
/// matrices have `first` = number of the first sample * elements of a sample.
struct MatrixDropout {
  DropoutMask mask;    ///< with a probability of 0 kernels draw no words
  std::int64_t first;  ///< a multiple of kWordsPerBlock
};

/// Drops nothing.
constexpr MatrixDropout no_dropout() { return {dropout_mask(0, 0, 0, 0.0), 0}; }

}  // namespace linkgain::kernels

#pragma once

#include <cstdint>
#include <memory>

#include "linkgain/model/training_model.hpp"

namespace linkgain {

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

}  // namespace linkgain

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "linkgain/gpu/device.hpp"
#include "linkgain/model/gpu_model.hpp"
#include "linkgain/model/training_model.hpp"
#include "model_steps.hpp"
#include "support/training_precisions.hpp"
#include "worker/gpu/gpu_fixture.hpp"

namespace linkgain::test {

using kernels::TrainingPrecision;

/// Returns those that the current device has.
inline std::vector<kernels::TrainingPrecision> precisions() {
  std::vector<kernels::TrainingPrecision> all{kernels::TrainingPrecision::fp32,
                                              kernels::TrainingPrecision::tf32};
  if (gpu::has_bfloat16()) all.push_back(kernels::TrainingPrecision::bf16);
  return all;
}

/// The same model twice, with the same parameters far from initial ones.
struct ModelPair {
  std::unique_ptr<TrainingModel> gpu;
  std::unique_ptr<TrainingModel> reference;
};

inline ModelPair make_pair(const GpuModelOptions& options, double deviation) {
  ModelPair pair{make_gpu_model(options), make_reference_model({options.config, options.shape,
                                                                options.dropout, options.seed})};
  if (deviation > 0.0) roughen(*pair.gpu, deviation);
  // Rounded to single precision, as the GPU has them.
  const std::vector<double> values = parameters_of(*pair.gpu);
  pair.reference->write_parameters(all_of(*pair.reference), values.data());
  return pair;
}

/// Draws uniformly distributed tokens for a step.
inline std::vector<std::int32_t> uniform_tokens(const Gpt2Config& config, const BatchShape& shape,
                                                std::uint32_t place = 0) {
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(shape.samples * (shape.length + 1)));
  const auto vocabulary = static_cast<std::uint32_t>(config.vocabulary);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<std::int32_t>(kernels::random_word({1, 203, place, 0}, i) % vocabulary);
  }
  return tokens;
}

}  // namespace linkgain::test

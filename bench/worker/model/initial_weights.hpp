#pragma once

#include <cstdint>
#include <span>

#include "kernels/random/model_random.hpp"
#include "linkgain/gpt2/parameter_table.hpp"

namespace linkgain {

/// Returns GPT-2's initialisation: N(0, 0.02) for embeddings and weights, N(0, 0.02 / sqrt(2
/// layers)) for the two projections into the residual stream, 0 for biases, 1 and 0 for LayerNorms.
kernels::WeightDistribution initial_distribution(const Gpt2Config& config, TensorKind kind);

/// Writes every parameter into `parameters`, which has table.count() elements. Values are those of
/// kernels::initial_weight(), in single precision whatever the type of the model.
void write_initial_weights(const ParameterTable& table, std::uint64_t seed,
                           std::span<double> parameters);

}  // namespace linkgain

#include "initial_weights.hpp"

#include <cmath>
#include <stdexcept>

namespace linkgain {

kernels::WeightDistribution initial_distribution(const Gpt2Config& config, TensorKind kind) {
  constexpr double kDeviation = 0.02;
  switch (kind) {
    case TensorKind::token_embedding:
    case TensorKind::position_embedding:
    case TensorKind::attention_weight:
    case TensorKind::expansion_weight:
      return {0.0, kDeviation};
    case TensorKind::projection_weight:
    case TensorKind::contraction_weight:
      return {0.0, kDeviation / std::sqrt(2.0 * config.layers)};
    case TensorKind::attention_norm_weight:
    case TensorKind::feed_forward_norm_weight:
    case TensorKind::final_norm_weight:
      return {1.0, 0.0};
    case TensorKind::attention_norm_bias:
    case TensorKind::attention_bias:
    case TensorKind::projection_bias:
    case TensorKind::feed_forward_norm_bias:
    case TensorKind::expansion_bias:
    case TensorKind::contraction_bias:
    case TensorKind::final_norm_bias:
      return {0.0, 0.0};
  }
  throw std::invalid_argument("no such kind of tensor");
}

void write_initial_weights(const ParameterTable& table, std::uint64_t seed,
                           std::span<double> parameters) {
  for (std::size_t i = 0; i < table.tensors().size(); ++i) {
    const ParameterTensor& tensor = table.tensors()[i];
    const auto distribution = initial_distribution(table.config(), tensor.kind);
    for (std::int64_t element = 0; element < tensor.count(); ++element) {
      parameters[static_cast<std::size_t>(tensor.offset + element)] =
          kernels::initial_weight(seed, static_cast<int>(i), element, distribution);
    }
  }
}

}  // namespace linkgain

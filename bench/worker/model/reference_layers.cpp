#include "reference_layers.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "linkgain/gpt2/gpt2_config.hpp"

namespace linkgain::reference {
namespace {

double mean_of(const double* row, std::int64_t columns) {
  double sum = 0.0;
  for (std::int64_t j = 0; j < columns; ++j) sum += row[j];
  return sum / static_cast<double>(columns);
}

const double kGeluFactor = std::sqrt(2.0 / std::numbers::pi);
constexpr double kGeluCubic = 0.044715;

}  // namespace

void NormState::resize(std::int64_t rows, std::int64_t columns) {
  normalised.resize(static_cast<std::size_t>(rows * columns));
  inverse_deviation.resize(static_cast<std::size_t>(rows));
}

void norm_forward(ConstMatrix input, const double* weight, const double* bias, NormState& state,
                  Matrix output) {
  const std::int64_t columns = input.columns;
  for (std::int64_t i = 0; i < input.rows; ++i) {
    const double* x = input.data + i * columns;
    double* normalised = state.normalised.data() + i * columns;
    double* y = output.data + i * columns;
    const double mean = mean_of(x, columns);
    double variance = 0.0;
    for (std::int64_t j = 0; j < columns; ++j) variance += (x[j] - mean) * (x[j] - mean);
    const double inverse = 1.0 / std::sqrt(variance / static_cast<double>(columns) + kNormEpsilon);
    state.inverse_deviation[static_cast<std::size_t>(i)] = inverse;
    for (std::int64_t j = 0; j < columns; ++j) {
      normalised[j] = (x[j] - mean) * inverse;
      y[j] = normalised[j] * weight[j] + bias[j];
    }
  }
}

void norm_backward(ConstMatrix output_gradient, const double* weight, const NormState& state,
                   NormGradients gradients) {
  const std::int64_t columns = output_gradient.columns;
  std::fill_n(gradients.weight, columns, 0.0);
  std::fill_n(gradients.bias, columns, 0.0);
  std::vector<double> scaled(static_cast<std::size_t>(columns));
  for (std::int64_t i = 0; i < output_gradient.rows; ++i) {
    const double* dy = output_gradient.data + i * columns;
    const double* normalised = state.normalised.data() + i * columns;
    double mean = 0.0;
    double correlation = 0.0;
    for (std::int64_t j = 0; j < columns; ++j) {
      gradients.weight[j] += dy[j] * normalised[j];
      gradients.bias[j] += dy[j];
      scaled[static_cast<std::size_t>(j)] = dy[j] * weight[j];
      mean += scaled[static_cast<std::size_t>(j)];
      correlation += scaled[static_cast<std::size_t>(j)] * normalised[j];
    }
    mean /= static_cast<double>(columns);
    correlation /= static_cast<double>(columns);
    const double inverse = state.inverse_deviation[static_cast<std::size_t>(i)];
    double* dx = gradients.input + i * columns;
    for (std::int64_t j = 0; j < columns; ++j) {
      dx[j] += inverse * (scaled[static_cast<std::size_t>(j)] - mean - normalised[j] * correlation);
    }
  }
}

void gelu_forward(std::span<const double> input, std::span<double> output) {
  for (std::size_t i = 0; i < input.size(); ++i) {
    const double x = input[i];
    output[i] = 0.5 * x * (1.0 + std::tanh(kGeluFactor * (x + kGeluCubic * x * x * x)));
  }
}

void gelu_backward(std::span<const double> input, std::span<double> gradient) {
  for (std::size_t i = 0; i < input.size(); ++i) {
    const double x = input[i];
    const double t = std::tanh(kGeluFactor * (x + kGeluCubic * x * x * x));
    const double slope = kGeluFactor * (1.0 + 3.0 * kGeluCubic * x * x);
    gradient[i] *= 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * slope;
  }
}

void Dropout::apply(std::span<double> values) const {
  if (!drops()) return;
  kernels::RandomWords words{};
  const auto count = static_cast<std::int64_t>(values.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto element = static_cast<std::uint64_t>(first + i);
    const std::uint64_t in_block = element % kernels::kWordsPerBlock;
    if (i == 0 || in_block == 0) {
      words = kernels::random_block(mask.sequence, element / kernels::kWordsPerBlock);
    }
    const bool kept = words.word[in_block] >= mask.threshold;
    double& value = values[static_cast<std::size_t>(i)];
    value = kept ? value * static_cast<double>(mask.scale) : 0.0;
  }
}

double cross_entropy(Matrix logits, std::span<const std::int32_t> targets, double scale) {
  double loss = 0.0;
  for (std::int64_t i = 0; i < logits.rows; ++i) {
    double* row = logits.data + i * logits.columns;
    const std::int32_t target = targets[static_cast<std::size_t>(i)];
    const double largest = *std::max_element(row, row + logits.columns);
    const double target_logit = row[target];
    double sum = 0.0;
    for (std::int64_t j = 0; j < logits.columns; ++j) {
      row[j] = std::exp(row[j] - largest);
      sum += row[j];
    }
    loss += std::log(sum) + largest - target_logit;
    for (std::int64_t j = 0; j < logits.columns; ++j) row[j] *= scale / sum;
    row[target] -= scale;
  }
  return loss;
}

}  // namespace linkgain::reference

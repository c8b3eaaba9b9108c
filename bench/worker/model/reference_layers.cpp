#include "reference_layers.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "linkgain/gpt2/gpt2_config.hpp"

namespace linkgain::reference {
namespace {

/// One row of the left matrix: its elements lie `stride` apart.
struct LeftRow {
  const double* data;
  std::int64_t stride;

  double at(std::int64_t i) const { return data[i * stride]; }
};

/// Adds left b to result, which is one row. Four rows of b at a time: a result is then loaded and
/// stored once for four products.
void add_row_product(LeftRow left, ConstMatrix b, double* __restrict result) {
  const std::int64_t columns = b.columns;
  std::int64_t i = 0;
  for (; i + 4 <= b.rows; i += 4) {
    const double a0 = left.at(i);
    const double a1 = left.at(i + 1);
    const double a2 = left.at(i + 2);
    const double a3 = left.at(i + 3);
    const double* b0 = b.data + i * columns;
    const double* b1 = b0 + columns;
    const double* b2 = b1 + columns;
    const double* b3 = b2 + columns;
    for (std::int64_t j = 0; j < columns; ++j) {
      result[j] += (a0 * b0[j] + a1 * b1[j]) + (a2 * b2[j] + a3 * b3[j]);
    }
  }
  for (; i < b.rows; ++i) {
    const double a0 = left.at(i);
    const double* b0 = b.data + i * columns;
    for (std::int64_t j = 0; j < columns; ++j) result[j] += a0 * b0[j];
  }
}

void prepare(Matrix result, Into into) {
  if (into == Into::overwrite) std::fill_n(result.data, result.rows * result.columns, 0.0);
}

double mean_of(const double* row, std::int64_t columns) {
  double sum = 0.0;
  for (std::int64_t j = 0; j < columns; ++j) sum += row[j];
  return sum / static_cast<double>(columns);
}

const double kGeluFactor = std::sqrt(2.0 / std::numbers::pi);
constexpr double kGeluCubic = 0.044715;

/// One head of one sample: where its rows begin, and how far they are apart.
struct Head {
  const double* query;
  const double* key;
  const double* value;
  std::int64_t stride;
  std::int64_t channels;
  std::int64_t length;
};

/// Calls `work` with (the head's place in qkv, in output, in probabilities) for every head.
template <typename Work>
void for_each_head(const AttentionShape& shape, Work work) {
  for (std::int64_t sample = 0; sample < shape.samples; ++sample) {
    for (std::int64_t head = 0; head < shape.heads; ++head) {
      const std::int64_t row = sample * shape.length;
      const std::int64_t column = head * shape.head_channels;
      work(row * 3 * shape.channels() + column, row * shape.channels() + column,
           (sample * shape.heads + head) * shape.length * shape.length);
    }
  }
}

Head head_at(const AttentionShape& shape, const double* qkv, std::int64_t place) {
  const double* query = qkv + place;
  return {query,
          query + shape.channels(),
          query + 2 * shape.channels(),
          3 * shape.channels(),
          shape.head_channels,
          shape.length};
}

double dot(const double* a, const double* b, std::int64_t count) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

/// Computes target += factor * source.
void add_scaled(double factor, const double* source, std::int64_t count, double* target) {
  for (std::int64_t i = 0; i < count; ++i) target[i] += factor * source[i];
}

double score_scale(const Head& head) { return 1.0 / std::sqrt(static_cast<double>(head.channels)); }

/// Fills the row of `head.length` probabilities of the query at `t`.
void softmax_row(const Head& head, std::int64_t t, double* row) {
  const double* query = head.query + t * head.stride;
  double largest = -HUGE_VAL;
  for (std::int64_t u = 0; u <= t; ++u) {
    row[u] = score_scale(head) * dot(query, head.key + u * head.stride, head.channels);
    largest = std::max(largest, row[u]);
  }
  double sum = 0.0;
  for (std::int64_t u = 0; u <= t; ++u) {
    row[u] = std::exp(row[u] - largest);
    sum += row[u];
  }
  for (std::int64_t u = 0; u <= t; ++u) row[u] /= sum;
  std::fill(row + t + 1, row + head.length, 0.0);
}

/// Turns `gradient`, that of the probabilities at `t`, into that of the scores.
void softmax_row_backward(const double* row, std::int64_t t, double* gradient) {
  const double mean = dot(row, gradient, t + 1);
  for (std::int64_t u = 0; u <= t; ++u) gradient[u] = row[u] * (gradient[u] - mean);
}

}  // namespace

void multiply(ConstMatrix a, ConstMatrix b, Matrix result, Into into) {
  prepare(result, into);
  for (std::int64_t i = 0; i < result.rows; ++i) {
    add_row_product({a.data + i * a.columns, 1}, b, result.data + i * result.columns);
  }
}

void multiply_transposed(ConstMatrix a, ConstMatrix b, Matrix result, Into into) {
  std::vector<double> transposed(static_cast<std::size_t>(b.rows * b.columns));
  for (std::int64_t i = 0; i < b.rows; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) {
      transposed[static_cast<std::size_t>(j * b.rows + i)] = b.data[i * b.columns + j];
    }
  }
  multiply(a, {transposed.data(), b.columns, b.rows}, result, into);
}

void transposed_multiply(ConstMatrix a, ConstMatrix b, Matrix result, Into into) {
  prepare(result, into);
  for (std::int64_t i = 0; i < result.rows; ++i) {
    add_row_product({a.data + i, a.columns}, b, result.data + i * result.columns);
  }
}

void add_row(Matrix matrix, const double* row) {
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    double* target = matrix.data + i * matrix.columns;
    for (std::int64_t j = 0; j < matrix.columns; ++j) target[j] += row[j];
  }
}

void sum_rows(ConstMatrix matrix, double* row) {
  std::fill_n(row, matrix.columns, 0.0);
  for (std::int64_t i = 0; i < matrix.rows; ++i) {
    const double* source = matrix.data + i * matrix.columns;
    for (std::int64_t j = 0; j < matrix.columns; ++j) row[j] += source[j];
  }
}

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

void attention_forward(const AttentionShape& shape, const double* qkv, const Dropout& dropout,
                       std::span<double> probabilities, std::span<double> dropped, double* output) {
  for_each_head(shape, [&](std::int64_t place, std::int64_t, std::int64_t first) {
    const Head head = head_at(shape, qkv, place);
    for (std::int64_t t = 0; t < shape.length; ++t) {
      softmax_row(head, t, probabilities.data() + first + t * shape.length);
    }
  });
  std::ranges::copy(probabilities, dropped.begin());
  dropout.apply(dropped);
  for_each_head(shape, [&](std::int64_t place, std::int64_t result, std::int64_t first) {
    const Head head = head_at(shape, qkv, place);
    for (std::int64_t t = 0; t < shape.length; ++t) {
      const double* row = dropped.data() + first + t * shape.length;
      double* target = output + result + t * shape.channels();
      std::fill_n(target, head.channels, 0.0);
      for (std::int64_t u = 0; u <= t; ++u) {
        add_scaled(row[u], head.value + u * head.stride, head.channels, target);
      }
    }
  });
}

void attention_backward(const AttentionShape& shape, const double* qkv, const Dropout& dropout,
                        std::span<const double> probabilities, std::span<const double> dropped,
                        const double* output_gradient, double* qkv_gradient) {
  std::fill_n(qkv_gradient, shape.samples * shape.length * 3 * shape.channels(), 0.0);
  std::vector<double> gradient(static_cast<std::size_t>(shape.probabilities()), 0.0);
  for_each_head(shape, [&](std::int64_t place, std::int64_t result, std::int64_t first) {
    const Head head = head_at(shape, qkv, place);
    for (std::int64_t t = 0; t < shape.length; ++t) {
      const double* source = output_gradient + result + t * shape.channels();
      const std::int64_t row = first + t * shape.length;
      double* value_gradient = qkv_gradient + place + 2 * shape.channels();
      for (std::int64_t u = 0; u <= t; ++u) {
        gradient[static_cast<std::size_t>(row + u)] =
            dot(source, head.value + u * head.stride, head.channels);
        add_scaled(dropped[static_cast<std::size_t>(row + u)], source, head.channels,
                   value_gradient + u * head.stride);
      }
    }
  });
  dropout.apply(gradient);
  for_each_head(shape, [&](std::int64_t place, std::int64_t, std::int64_t first) {
    const Head head = head_at(shape, qkv, place);
    for (std::int64_t t = 0; t < shape.length; ++t) {
      const std::int64_t row = first + t * shape.length;
      double* scores = gradient.data() + row;
      softmax_row_backward(probabilities.data() + row, t, scores);
      double* query_gradient = qkv_gradient + place + t * head.stride;
      for (std::int64_t u = 0; u <= t; ++u) {
        const double factor = score_scale(head) * scores[u];
        add_scaled(factor, head.key + u * head.stride, head.channels, query_gradient);
        add_scaled(factor, head.query + t * head.stride, head.channels,
                   qkv_gradient + place + shape.channels() + u * head.stride);
      }
    }
  });
}

}  // namespace linkgain::reference

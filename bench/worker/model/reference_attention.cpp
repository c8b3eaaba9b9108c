#include <algorithm>
#include <cmath>
#include <vector>

#include "reference_layers.hpp"

namespace linkgain::reference {
namespace {

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

/// target += factor * source
void add_scaled(double factor, const double* source, std::int64_t count, double* target) {
  for (std::int64_t i = 0; i < count; ++i) target[i] += factor * source[i];
}

double score_scale(const Head& head) { return 1.0 / std::sqrt(static_cast<double>(head.channels)); }

/// The row of `head.length` probabilities of the query at `t`.
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

/// `gradient` is that of the probabilities at `t`, then of the scores.
void softmax_row_backward(const double* row, std::int64_t t, double* gradient) {
  const double mean = dot(row, gradient, t + 1);
  for (std::int64_t u = 0; u <= t; ++u) gradient[u] = row[u] * (gradient[u] - mean);
}

}  // namespace

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

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "device_array.hpp"
#include "kernels/gpt2/layer_norm.hpp"

// Shapes and inputs for tests of LayerNorm, and what they share of it in doubles.
namespace linkgain::kernels {

inline constexpr double kEpsilon = 1e-5;

struct NormCase {
  ElementType type;
  NormShape shape;
  double dropout;

  std::int64_t elements() const { return shape.rows * shape.channels; }
  /// Begins in the middle of a batch.
  MatrixDropout mask() const { return {dropout_mask(5, 3, 2, dropout), 64 * elements()}; }
};

inline std::vector<NormCase> norm_cases() {
  std::vector<NormCase> cases;
  for (const ElementType type : kActivationTypes) {
    for (const double dropout : {0.0, 0.1}) {
      for (const auto& [rows, channels] : std::vector<std::pair<int, int>>{{1, 64},
                                                                           {7, 64},
                                                                           {33, 128},
                                                                           {5, 192},
                                                                           {130, 320},
                                                                           {17, 640},
                                                                           {3, 1024},
                                                                           {601, 768}}) {
        cases.push_back({type, {rows, channels, static_cast<float>(kEpsilon)}, dropout});
      }
    }
    cases.push_back({type, {4096, 768, static_cast<float>(kEpsilon)}, 0.1});
  }
  return cases;
}

inline std::string name_of(const NormCase& norm_case) {
  return std::to_string(norm_case.shape.rows) + " x " + std::to_string(norm_case.shape.channels) +
         (norm_case.type == ElementType::float32 ? " float32" : " bfloat16") + ", dropout " +
         std::to_string(norm_case.dropout);
}

inline void drop(const NormCase& norm_case, Values& values) {
  const MatrixDropout dropout = norm_case.mask();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool kept = is_kept(dropout.mask, dropout.first + static_cast<std::int64_t>(i));
    values[i] = kept ? values[i] * static_cast<double>(dropout.mask.scale) : 0.0;
  }
}

struct Moments {
  Values mean;
  Values inverse_deviation;
};

inline Moments moments_of(const NormCase& norm_case, const Values& input) {
  const auto channels = static_cast<std::size_t>(norm_case.shape.channels);
  Moments moments;
  for (std::size_t begin = 0; begin < input.size(); begin += channels) {
    double mean = 0.0;
    for (std::size_t j = 0; j < channels; ++j) mean += input[begin + j];
    mean /= static_cast<double>(channels);
    double variance = 0.0;
    for (std::size_t j = 0; j < channels; ++j) variance += std::pow(input[begin + j] - mean, 2);
    variance /= static_cast<double>(channels);
    moments.mean.push_back(mean);
    moments.inverse_deviation.push_back(1.0 / std::sqrt(variance + kEpsilon));
  }
  return moments;
}

inline Values normalised(const NormCase& norm_case, const Values& input, const Moments& moments) {
  const auto channels = static_cast<std::size_t>(norm_case.shape.channels);
  Values result(input.size());
  for (std::size_t i = 0; i < input.size(); ++i) {
    result[i] = (input[i] - moments.mean[i / channels]) * moments.inverse_deviation[i / channels];
  }
  return result;
}

/// What goes in: rows of mean 0.5 and deviation 0.6 or so, weights around 1.
struct Inputs {
  explicit Inputs(const NormCase& norm_case)
      : stream(noise(ElementType::float32, 1, norm_case.elements())),
        branch(noise(norm_case.type, 2, norm_case.elements())),
        weight(noise(ElementType::float32, 3, norm_case.shape.channels)),
        bias(noise(ElementType::float32, 4, norm_case.shape.channels)),
        stream_gradient(noise(ElementType::float32, 5, norm_case.elements())) {
    for (double& value : stream) value = rounded_to(ElementType::float32, value + 0.5);
    for (double& value : weight) value = rounded_to(ElementType::float32, value + 1.0);
  }

  Values stream;
  Values branch;  ///< or the gradient of the output
  Values weight;
  Values bias;
  Values stream_gradient;
};

}  // namespace linkgain::kernels

#include "initial_weights.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace linkgain::test {
namespace {

struct Moments {
  double mean = 0.0;
  double deviation = 0.0;
};

Moments moments_of(const ParameterTensor& tensor, const std::vector<double>& parameters) {
  double sum = 0.0;
  double squares = 0.0;
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    const double value = parameters[static_cast<std::size_t>(tensor.offset + i)];
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(tensor.count());
  return {sum / count, std::sqrt(std::max(0.0, squares / count - sum / count * (sum / count)))};
}

TEST(InitialWeights, AreThoseOfGpt2) {
  const ParameterTable table(gpt2_config(ModelSize::tiny));
  std::vector<double> parameters(static_cast<std::size_t>(table.count()), 99.0);
  write_initial_weights(table, 1, parameters);
  for (const ParameterTensor& tensor : table.tensors()) {
    const Moments moments = moments_of(tensor, parameters);
    const bool is_bias = tensor.name.ends_with("bias");
    const bool is_norm = tensor.name.find("ln_") != std::string::npos;
    if (is_bias || is_norm) {
      EXPECT_EQ(moments.mean, is_bias ? 0.0 : 1.0) << tensor.name;
      EXPECT_EQ(moments.deviation, 0.0) << tensor.name;
      continue;
    }
    // Two blocks: projections into the residual stream have 0.02 / sqrt(4).
    const double deviation = tensor.name.find("c_proj") != std::string::npos ? 0.01 : 0.02;
    const double error = 4 * deviation / std::sqrt(static_cast<double>(tensor.count()));
    EXPECT_NEAR(moments.mean, 0.0, error) << tensor.name;
    EXPECT_NEAR(moments.deviation, deviation, error) << tensor.name;
  }
}

TEST(InitialWeights, AreAFunctionOfTheSeed) {
  const ParameterTable table(gpt2_config(ModelSize::tiny));
  std::vector<double> first(static_cast<std::size_t>(table.count()));
  std::vector<double> second = first;
  std::vector<double> other = first;
  write_initial_weights(table, 1, first);
  write_initial_weights(table, 1, second);
  write_initial_weights(table, 2, other);
  EXPECT_EQ(first, second);
  EXPECT_NE(first, other);
  EXPECT_EQ(first[5], static_cast<double>(kernels::initial_weight(1, 0, 5, {0.0, 0.02})));
}

TEST(InitialWeights, OfGpt2sTwelveLayersDivideByTheRootOfTwentyFour) {
  const Gpt2Config config = gpt2_config(ModelSize::gpt2);
  const auto expected = 0.02 / std::sqrt(24.0);
  EXPECT_DOUBLE_EQ(initial_distribution(config, TensorKind::projection_weight).deviation, expected);
  EXPECT_DOUBLE_EQ(initial_distribution(config, TensorKind::contraction_weight).deviation,
                   expected);
  EXPECT_DOUBLE_EQ(initial_distribution(config, TensorKind::expansion_weight).deviation, 0.02);
}

}  // namespace
}  // namespace linkgain::test

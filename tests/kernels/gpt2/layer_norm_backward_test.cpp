#include "norm_cases.hpp"

namespace linkgain::kernels {
namespace {

/// A sum of columns passes through fewer than 80 roundings of 2^-24 of what was added up: one for
/// each row of a warp, each of 8 warps, and 32 for up to 256 blocks.
constexpr double kSumError = 5e-6;
/// For normalised values, below 4 each.
constexpr double kNormalisedError = 4e-6;
/// For the stream's gradient, below 10: twice a normalised value times a correlation, both below 4.
constexpr double kStreamError = 3e-5;

struct BackwardForm {
  bool overwrites;
  bool has_branch;
  bool has_bias;
  bool in_place;  ///< the branch's gradient takes the place of the output's
};

class NormBackwardRun {
 public:
  NormBackwardRun(const NormCase& norm_case, const Inputs& inputs, const BackwardForm& form)
      : stream(ElementType::float32, inputs.stream_gradient),
        branch(norm_case.type, norm_case.elements()),
        weight_gradient(ElementType::float32, norm_case.shape.channels),
        bias_gradient(ElementType::float32, norm_case.shape.channels),
        branch_bias_gradient(ElementType::float32, norm_case.shape.channels),
        output_gradient(norm_case.type, inputs.branch),
        input_(ElementType::float32, inputs.stream),
        weight_(ElementType::float32, inputs.weight),
        mean_(ElementType::float32, moments_of(norm_case, inputs.stream).mean),
        inverse_(ElementType::float32, moments_of(norm_case, inputs.stream).inverse_deviation),
        scratch_(scratch_of(norm_backward_scratch(norm_case.shape.channels))) {
    const gpu::Stream cuda_stream;
    void* values = form.in_place ? output_gradient.data() : branch.data();
    const BranchGradient gradient{form.has_branch ? values : nullptr, norm_case.mask(),
                                  form.has_bias ? branch_bias_gradient.floats() : nullptr};
    gpu::check(norm_backward(norm_case.type, norm_case.shape,
                             {output_gradient.data(), input_.floats(), mean_.floats(),
                              inverse_.floats(), weight_.floats(), stream.floats(), form.overwrites,
                              weight_gradient.floats(), bias_gradient.floats()},
                             gradient, scratch_.data(), cuda_stream.get()));
    cuda_stream.synchronize();
    scratch_.bits();  // its guards
  }

  DeviceArray stream;
  DeviceArray branch;
  DeviceArray weight_gradient;
  DeviceArray bias_gradient;
  DeviceArray branch_bias_gradient;
  DeviceArray output_gradient;

 private:
  DeviceArray input_;
  DeviceArray weight_;
  DeviceArray mean_;
  DeviceArray inverse_;
  DeviceArray scratch_;
};

struct ExpectedGradients {
  Values stream;
  CheckedSums weight;
  CheckedSums bias;
};

ExpectedGradients expected_gradients(const NormCase& norm_case, const Inputs& inputs,
                                     bool overwrites) {
  const std::int64_t channels = norm_case.shape.channels;
  const Moments moments = moments_of(norm_case, inputs.stream);
  const Values h = normalised(norm_case, inputs.stream, moments);
  ExpectedGradients expected{inputs.stream_gradient, CheckedSums(channels), CheckedSums(channels)};
  if (overwrites) expected.stream.assign(expected.stream.size(), 0.0);
  for (std::int64_t row = 0; row < norm_case.shape.rows; ++row) {
    const auto at = [&](std::int64_t j) { return static_cast<std::size_t>(row * channels + j); };
    const auto scaled = [&](std::int64_t j) {
      return inputs.branch[at(j)] * inputs.weight[static_cast<std::size_t>(j)];
    };
    double mean = 0.0;
    double correlation = 0.0;
    for (std::int64_t j = 0; j < channels; ++j) {
      expected.weight.add(j, inputs.branch[at(j)] * h[at(j)]);
      expected.bias.add(j, inputs.branch[at(j)]);
      mean += scaled(j) / static_cast<double>(channels);
      correlation += scaled(j) * h[at(j)] / static_cast<double>(channels);
    }
    const double inverse = moments.inverse_deviation[static_cast<std::size_t>(row)];
    for (std::int64_t j = 0; j < channels; ++j) {
      expected.stream[at(j)] += inverse * (scaled(j) - mean - h[at(j)] * correlation);
    }
  }
  return expected;
}

class LayerNormBackward : public test::GpuTest {};

TEST_F(LayerNormBackward, gives_the_gradients_of_stream_and_parameters) {
  for (const NormCase& norm_case : norm_cases()) {
    SCOPED_TRACE(name_of(norm_case));
    const Inputs inputs(norm_case);
    for (const bool overwrites : {false, true}) {
      const BackwardForm form{overwrites, false, false, false};
      const NormBackwardRun run(norm_case, inputs, form);
      const ExpectedGradients expected = expected_gradients(norm_case, inputs, overwrites);
      expect_close(run.stream.values(), expected.stream, 0.0, kStreamError);
      expected.weight.expect(run.weight_gradient.values(), kSumError, kNormalisedError);
      expected.bias.expect(run.bias_gradient.values(), kSumError, 0.0);
    }
  }
}

TEST_F(LayerNormBackward, gives_the_gradient_of_the_branch_before) {
  for (const NormCase& norm_case : norm_cases()) {
    SCOPED_TRACE(name_of(norm_case));
    const Inputs inputs(norm_case);
    const NormBackwardRun run(norm_case, inputs, {false, true, true, false});
    Values expected = expected_gradients(norm_case, inputs, false).stream;
    drop(norm_case, expected);
    expect_close(run.branch.values(), expected, rounding_error(norm_case.type), 1.2 * kStreamError);
    CheckedSums bias(norm_case.shape.channels);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      bias.add(static_cast<std::int64_t>(i) % norm_case.shape.channels, expected[i]);
    }
    bias.expect(run.branch_bias_gradient.values(), kSumError, 1.2 * kStreamError);
    const NormBackwardRun again(norm_case, inputs, {false, true, true, true});
    EXPECT_EQ(again.output_gradient.bits(), run.branch.bits());
    EXPECT_EQ(again.stream.bits(), run.stream.bits());
    EXPECT_EQ(again.weight_gradient.bits(), run.weight_gradient.bits());
    EXPECT_EQ(again.bias_gradient.bits(), run.bias_gradient.bits());
    EXPECT_EQ(again.branch_bias_gradient.bits(), run.branch_bias_gradient.bits());
    const NormBackwardRun without(norm_case, inputs, {false, true, false, false});
    EXPECT_EQ(without.branch.bits(), run.branch.bits());
    EXPECT_EQ(without.weight_gradient.bits(), run.weight_gradient.bits());
  }
}

}  // namespace
}  // namespace linkgain::kernels

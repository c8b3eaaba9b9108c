#include "kernels/gpt2/layer_norm.hpp"

#include "norm_cases.hpp"

namespace linkgain::kernels {
namespace {

class NormForwardRun {
 public:
  NormForwardRun(const NormCase& norm_case, const Inputs& inputs, bool adds, bool in_place)
      : stream(ElementType::float32, inputs.stream),
        branch(norm_case.type, inputs.branch),
        sum(ElementType::float32, norm_case.elements()),
        weight(ElementType::float32, inputs.weight),
        bias(ElementType::float32, inputs.bias),
        output(norm_case.type, norm_case.elements()),
        mean(ElementType::float32, norm_case.shape.rows),
        inverse_deviation(ElementType::float32, norm_case.shape.rows) {
    const gpu::Stream cuda_stream;
    const NormForward norm{weight.floats(), bias.floats(), output.data(), mean.floats(),
                           inverse_deviation.floats()};
    gpu::check(adds ? add_norm_forward(norm_case.type, norm_case.shape, stream.floats(),
                                       {branch.data(), norm_case.mask()},
                                       in_place ? stream.floats() : sum.floats(), norm,
                                       cuda_stream.get())
                    : norm_forward(norm_case.type, norm_case.shape, stream.floats(), norm,
                                   cuda_stream.get()));
    cuda_stream.synchronize();
  }

  DeviceArray stream;
  DeviceArray branch;
  DeviceArray sum;
  DeviceArray weight;
  DeviceArray bias;
  DeviceArray output;
  DeviceArray mean;
  DeviceArray inverse_deviation;
};

/// Allows for values below 4 and deviations above 0.5: a mean is within 1e-6 (30 roundings of 2^-24
/// of values below 1.1 on average), normalised values, all below 4, within 4e-6.
void expect_norm(const NormCase& norm_case, const Inputs& inputs, const Values& input,
                 const NormForwardRun& run) {
  const Moments moments = moments_of(norm_case, input);
  expect_close(run.mean.values(), moments.mean, 0.0, 2e-6);
  expect_close(run.inverse_deviation.values(), moments.inverse_deviation, 4e-6, 0.0);
  Values expected = normalised(norm_case, input, moments);
  const auto channels = static_cast<std::size_t>(norm_case.shape.channels);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    expected[i] = expected[i] * inputs.weight[i % channels] + inputs.bias[i % channels];
  }
  expect_close(run.output.values(), expected, rounding_error(norm_case.type), 2e-5);
}

class LayerNorm : public test::GpuTest {};

TEST_F(LayerNorm, normalises_the_stream) {
  for (const NormCase& norm_case : norm_cases()) {
    SCOPED_TRACE(name_of(norm_case));
    const Inputs inputs(norm_case);
    const NormForwardRun run(norm_case, inputs, false, false);
    expect_norm(norm_case, inputs, inputs.stream, run);
    EXPECT_EQ(run.stream.values(), inputs.stream);
    EXPECT_EQ(run.output.bits(), NormForwardRun(norm_case, inputs, false, false).output.bits());
  }
}

TEST_F(LayerNorm, adds_the_branch_before) {
  for (const NormCase& norm_case : norm_cases()) {
    SCOPED_TRACE(name_of(norm_case));
    const Inputs inputs(norm_case);
    const NormForwardRun run(norm_case, inputs, true, false);
    Values expected = inputs.branch;
    drop(norm_case, expected);
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += inputs.stream[i];
    // The product with the scale and the sum, both below 4, are rounded once each.
    expect_close(run.sum.values(), expected, 0.0, 4 * 0x1p-23);
    expect_norm(norm_case, inputs, expected, run);
    EXPECT_EQ(run.stream.values(), inputs.stream);
    const NormForwardRun in_place(norm_case, inputs, true, true);
    EXPECT_EQ(in_place.stream.bits(), run.sum.bits());
    EXPECT_EQ(in_place.output.bits(), run.output.bits());
  }
}

TEST_F(LayerNorm, refuses_what_it_cannot_do) {
  const NormCase good{ElementType::float32, {2, 64, 1e-5F}, 0.1};
  const DeviceArray memory(ElementType::float32, 1024);
  const auto refuse = [&](ElementType type, const NormShape& shape, const float* input,
                          std::int64_t first) {
    const NormForward norm{memory.floats(), memory.floats(), memory.data(), memory.floats(),
                           memory.floats()};
    const Branch branch{memory.data(), {good.mask().mask, first}};
    return add_norm_forward(type, shape, input, branch, memory.floats(), norm, nullptr);
  };
  EXPECT_EQ(refuse(ElementType::float16, good.shape, memory.floats(), 0), cudaErrorInvalidValue);
  EXPECT_EQ(refuse(good.type, {2, 96, 1e-5F}, memory.floats(), 0), cudaErrorInvalidValue);
  EXPECT_EQ(refuse(good.type, {2, 1088, 1e-5F}, memory.floats(), 0), cudaErrorInvalidValue);
  EXPECT_EQ(refuse(good.type, {-1, 64, 1e-5F}, memory.floats(), 0), cudaErrorInvalidValue);
  EXPECT_EQ(refuse(good.type, good.shape, memory.floats() + 1, 0), cudaErrorInvalidValue);
  EXPECT_EQ(refuse(good.type, good.shape, memory.floats(), 2), cudaErrorInvalidValue);
  EXPECT_EQ(refuse(good.type, {0, 64, 1e-5F}, memory.floats(), 0), cudaSuccess);
}

}  // namespace
}  // namespace linkgain::kernels

#include "kernels/decoder/rms_norm.hpp"

#include "kernels/gpt2/device_array.hpp"

namespace linkgain::kernels {
namespace {

constexpr float kEpsilon = 1e-5F;

Values normalised(const Values& input, const Values& weight) {
  Values output = input;
  for (std::size_t row = 0; row < input.size(); row += weight.size()) {
    double squares = 0.0;
    for (std::size_t i = 0; i < weight.size(); ++i) squares += input[row + i] * input[row + i];
    const double scale =
        1.0 / std::sqrt(squares / static_cast<double>(weight.size()) + double{kEpsilon});
    for (std::size_t i = 0; i < weight.size(); ++i) output[row + i] *= scale * weight[i];
  }
  return output;
}

class RmsNorm : public test::GpuTest {};

TEST_F(RmsNorm, normalises_each_row) {
  for (const int hidden : {8, 256, 2048, 5120, 8200, 65536}) {
    for (const std::int64_t rows : {1, 7, 300}) {
      SCOPED_TRACE(testing::Message() << rows << " rows of " << hidden);
      const ElementType type = ElementType::bfloat16;
      const Values values = noise(type, 1, rows * hidden, 3.0);
      const Values gains = noise(type, 2, hidden);
      const DeviceArray input(type, values);
      const DeviceArray weight(type, gains);
      const DeviceArray output(type, rows * hidden);
      const gpu::Stream stream;
      const auto run = [&](const DeviceArray& to) {
        gpu::check(
            rms_norm(input.data(), weight.data(), to.data(), rows, hidden, kEpsilon, stream.get()));
        stream.synchronize();
        return to.bits();
      };
      const Bits bits = run(output);
      expect_close(output.values(), normalised(values, gains), rounding_error(type), 1e-5);
      EXPECT_EQ(input.values(), values);
      EXPECT_EQ(run(output), bits);
      EXPECT_EQ(run(input), bits) << "in place";
    }
  }
}

TEST_F(RmsNorm, refuses_what_does_not_fit) {
  const DeviceArray memory(ElementType::bfloat16, 1024);
  const gpu::Stream stream;
  const auto run = [&](const void* from, std::int64_t rows, int hidden) {
    return rms_norm(from, memory.data(), memory.data(), rows, hidden, kEpsilon, stream.get());
  };
  EXPECT_EQ(run(memory.data(), 1, 4), cudaErrorInvalidValue);
  EXPECT_EQ(run(memory.data(), 1, 0), cudaErrorInvalidValue);
  EXPECT_EQ(run(memory.data(), -1, 8), cudaErrorInvalidValue);
  EXPECT_EQ(run(static_cast<const char*>(memory.data()) + 2, 1, 8), cudaErrorInvalidValue);
  EXPECT_EQ(run(memory.data(), 0, 8), cudaSuccess);
}

}  // namespace
}  // namespace linkgain::kernels

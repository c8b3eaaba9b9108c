
#include "kernels/gpt2/adamw.hpp"

#include "kernels/gpt2/device_array.hpp"

namespace linkgain::kernels {
namespace {

using enum ElementType;

constexpr std::int64_t kCounts[] = {0, 1, 2, 3, 4, 5, 7, 1023, 100'003};

/// As in the fifth step of training.
constexpr AdamScalars kScalars{5e-4, 0.9, 0.999, 1.0 - 0.59049, 1.0 - 0.995009990004999, 1e-8, 1.0};

class SquaredNorm : public test::GpuTest {};

TEST_F(SquaredNorm, adds_squares_of_any_range) {
  const gpu::Stream stream;
  const DeviceArray scratch = scratch_of(squared_norm_scratch());
  std::vector<std::int64_t> counts(std::begin(kCounts), std::end(kCounts));
  counts.push_back(9'000'001);  // more than the grid takes at once
  for (const std::int64_t count : counts) {
    for (const std::int64_t lead : {0, 1, 2, 3}) {
      const Values values = noise(float32, 3, count);
      const DeviceArray memory(float32, values, lead);
      const DeviceArray sum(float32, Values{2.5});
      gpu::check(
          add_squared_norm(memory.floats(), count, sum.floats(), scratch.data(), stream.get()));
      double expected = 2.5;
      for (const double value : values) expected += value * value;
      // A thread adds up to 48 squares in float32, the rest is double.
      expect_close(sum.values(), {expected}, 50 * 0x1p-24, 0.0);
      const DeviceArray again(float32, Values{2.5});
      gpu::check(
          add_squared_norm(memory.floats(), count, again.floats(), scratch.data(), stream.get()));
      EXPECT_EQ(again.bits(), sum.bits());
      scratch.bits();
    }
  }
}

/// What one update works on. Gradients have a place of their own.
struct AdamMemory {
  AdamMemory(std::int64_t count, std::int64_t lead, std::int64_t gradient_lead)
      : parameters(float32, noise(float32, 1, count), lead),
        gradients(float32, noise(float32, 2, count), gradient_lead),
        first(float32, noise(float32, 3, count, 0.1), lead),
        second(float32, squares(count), lead),
        copy(bfloat16, count, lead) {}

  static Values squares(std::int64_t count) {
    Values values = noise(float32, 4, count);
    for (double& value : values) value = rounded_to(float32, value * value);
    return values;
  }

  AdamRange range(std::int64_t offset, std::int64_t count) const {
    return {parameters.floats() + offset,
            gradients.floats() + offset,
            first.floats() + offset,
            second.floats() + offset,
            static_cast<std::uint16_t*>(copy.data()) + offset,
            count};
  }

  DeviceArray parameters;
  DeviceArray gradients;
  DeviceArray first;
  DeviceArray second;
  DeviceArray copy;
};

struct Expected {
  Values parameters;
  Values first;
  Values second;
};

Expected expected_of(std::int64_t count, double squared_norm) {
  const double factor = std::min(1.0, kScalars.largest_norm / (std::sqrt(squared_norm) + 1e-6));
  Expected expected{noise(float32, 1, count), noise(float32, 3, count, 0.1),
                    AdamMemory::squares(count)};
  const Values gradients = noise(float32, 2, count);
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const double gradient = factor * gradients[i];
    double& first = expected.first[i];
    double& second = expected.second[i];
    first = kScalars.beta1 * first + (1.0 - kScalars.beta1) * gradient;
    second = kScalars.beta2 * second + (1.0 - kScalars.beta2) * gradient * gradient;
    const double deviation = std::sqrt(second / kScalars.correction2) + kScalars.epsilon;
    expected.parameters[i] -= kScalars.learning_rate * (first / kScalars.correction1) / deviation;
  }
  return expected;
}

class AdamUpdate : public test::GpuTest {};

TEST_F(AdamUpdate, is_adam_with_clipped_gradients) {
  const gpu::Stream stream;
  for (const double squared_norm : {0.25, 9.0}) {
    const DeviceArray norm(float32, Values{squared_norm});
    for (const std::int64_t count : kCounts) {
      for (const std::int64_t lead : {0, 1, 3}) {
        const AdamMemory memory(count, lead, lead);
        gpu::check(adam_update(memory.range(0, count), kScalars, norm.floats(), stream.get()));
        const Expected expected = expected_of(count, squared_norm);
        // Terms of both signs, below 0.1 each, with 4 roundings.
        expect_close(memory.first.values(), expected.first, 0.0, 0.2 * 0x1p-22);
        // Nothing cancels; 5 roundings, and the clip factor's 3 twice.
        expect_close(memory.second.values(), expected.second, 11 * 0x1p-24, 0.0);
        // Changes are below 1 (moments do not fit each other here), with 8 roundings.
        expect_close(memory.parameters.values(), expected.parameters, 0x1p-24, 0x1p-20);
        Values rounded = memory.parameters.values();
        for (double& value : rounded) value = rounded_to(bfloat16, value);
        EXPECT_EQ(memory.copy.values(), rounded);
        EXPECT_EQ(memory.gradients.values(), noise(float32, 2, count));
      }
    }
  }
}

TEST_F(AdamUpdate, gives_the_same_bits_by_pieces_and_however_aligned) {
  constexpr std::int64_t kCount = 10'007;
  const gpu::Stream stream;
  const DeviceArray norm(float32, Values{9.0});
  const AdamMemory whole(kCount, 0, 0);
  gpu::check(adam_update(whole.range(0, kCount), kScalars, norm.floats(), stream.get()));
  for (const std::int64_t gradient_lead : {0, 1}) {
    const AdamMemory pieces(kCount, 0, gradient_lead);
    for (std::int64_t begin = 0, size = 1; begin < kCount; begin += size, size = size * 3 / 2 + 1) {
      gpu::check(adam_update(pieces.range(begin, std::min(size, kCount - begin)), kScalars,
                             norm.floats(), stream.get()));
    }
    EXPECT_EQ(pieces.parameters.bits(), whole.parameters.bits());
    EXPECT_EQ(pieces.first.bits(), whole.first.bits());
    EXPECT_EQ(pieces.second.bits(), whole.second.bits());
    EXPECT_EQ(pieces.copy.bits(), whole.copy.bits());
  }
}

TEST_F(AdamUpdate, needs_no_copy) {
  const gpu::Stream stream;
  const DeviceArray norm(float32, Values{9.0});
  const AdamMemory with(101, 1, 1);
  const AdamMemory without(101, 1, 1);
  gpu::check(adam_update(with.range(0, 101), kScalars, norm.floats(), stream.get()));
  AdamRange range = without.range(0, 101);
  range.copy = nullptr;
  gpu::check(adam_update(range, kScalars, norm.floats(), stream.get()));
  EXPECT_EQ(without.parameters.bits(), with.parameters.bits());
  EXPECT_EQ(without.copy.bits(), DeviceArray(bfloat16, 101, 1).bits());
  range.count = -1;
  EXPECT_EQ(adam_update(range, kScalars, norm.floats(), stream.get()), cudaErrorInvalidValue);
}

}  // namespace
}  // namespace linkgain::kernels

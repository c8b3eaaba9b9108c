#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "gpu/gpu_fixture.hpp"
#include "kernels/attention.hpp"
#include "kernels/counter_random.hpp"
#include "support/training_precisions.hpp"

/// What tests and timings of attention share: numbers in a precision's memory, and a batch on a
/// device.
namespace linkgain::testing {

using kernels::AttentionDropout;
using kernels::AttentionShape;
using kernels::TrainingPrecision;

inline std::size_t number_bytes(TrainingPrecision precision) {
  return precision == TrainingPrecision::bf16 ? 2 : 4;
}

/// The upper half of a float, to the nearest, ties to even.
inline std::uint16_t to_bf16(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

inline float from_bf16(std::uint16_t half) {
  const std::uint32_t bits = std::uint32_t{half} << 16;
  float value = 0.0F;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Standard normal numbers times `deviation`, rounded to what the precision's memory holds.
inline std::vector<double> normal_numbers(TrainingPrecision precision, std::size_t count,
                                          std::uint32_t place, double deviation) {
  const kernels::RandomSequence sequence{7, 9, place, 0};
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<float>(kernels::random_normal(sequence, i) * deviation);
    numbers[i] = precision == TrainingPrecision::bf16 ? from_bf16(to_bf16(number)) : number;
  }
  return numbers;
}

/// Device memory for `count` numbers, with an area on either side that must stay as it is.
class GuardedNumbers {
 public:
  GuardedNumbers(TrainingPrecision precision, std::size_t count)
      : precision_(precision),
        count_(count),
        memory_(Bytes{static_cast<std::int64_t>(bytes() + 2 * kGuard)}) {}

  void* data() const { return static_cast<char*>(memory_.data()) + kGuard; }

  /// Everything, the areas too: as numbers these are not a number or nonsense.
  void poison(const gpu::Stream& stream) const {
    gpu::check(cudaMemsetAsync(memory_.data(), kPoison, bytes() + 2 * kGuard, stream.get()));
  }
  void fill(const std::vector<double>& numbers, const gpu::Stream& stream) const {
    std::vector<std::uint8_t> memory(bytes() + 2 * kGuard, kPoison);
    for (std::size_t i = 0; i < count_; ++i) {
      const auto number = static_cast<float>(numbers.at(i));
      const std::uint16_t half = to_bf16(number);
      const void* source = &number;
      if (precision_ == TrainingPrecision::bf16) source = &half;
      std::memcpy(memory.data() + kGuard + i * number_bytes(precision_), source,
                  number_bytes(precision_));
    }
    gpu::upload(memory_, memory, stream);
  }
  std::vector<std::uint8_t> bits(const gpu::Stream& stream) const {
    return gpu::download(memory_, stream);
  }
  std::vector<double> numbers(const gpu::Stream& stream) const {
    const std::vector<std::uint8_t> memory = bits(stream);
    std::vector<double> result(count_);
    for (std::size_t i = 0; i < count_; ++i) {
      const std::uint8_t* place = memory.data() + kGuard + i * number_bytes(precision_);
      std::uint16_t half = 0;
      float number = 0.0F;
      if (precision_ == TrainingPrecision::bf16) {
        std::memcpy(&half, place, sizeof half);
        number = from_bf16(half);
      } else {
        std::memcpy(&number, place, sizeof number);
      }
      result[i] = number;
    }
    return result;
  }
  void expect_guards(const gpu::Stream& stream) const {
    const std::vector<std::uint8_t> memory = bits(stream);
    for (std::size_t i = 0; i < kGuard; ++i) {
      ASSERT_EQ(memory[i], kPoison) << "before, " << i;
      ASSERT_EQ(memory[memory.size() - 1 - i], kPoison) << "after, " << i;
    }
  }

 private:
  static constexpr std::size_t kGuard = 1024;
  static constexpr std::uint8_t kPoison = 0xff;

  std::size_t bytes() const { return count_ * number_bytes(precision_); }

  TrainingPrecision precision_;
  std::size_t count_;
  gpu::DeviceBuffer memory_;
};

/// Everything that both passes take, on the current device.
struct AttentionBatch {
  AttentionBatch(TrainingPrecision of, const AttentionShape& with)
      : precision(of),
        shape(with),
        qkv(of, 3 * outputs()),
        output(of, outputs()),
        output_gradient(of, outputs()),
        qkv_gradient(of, 3 * outputs()),
        log_sums(TrainingPrecision::fp32, queries()),
        scratch(TrainingPrecision::fp32,
                static_cast<std::size_t>(kernels::attention_scratch_bytes(with)) / 4),
        kept(TrainingPrecision::fp32, mask_words()) {}

  std::size_t queries() const {
    return static_cast<std::size_t>(shape.samples) * static_cast<std::size_t>(shape.heads) *
           static_cast<std::size_t>(shape.length);
  }
  std::size_t outputs() const { return queries() * static_cast<std::size_t>(shape.head_channels); }
  std::size_t mask_words() const {
    return static_cast<std::size_t>(kernels::attention_mask_bytes(shape)) / sizeof(std::uint32_t);
  }
  std::uint32_t* mask(const AttentionDropout& dropout) const {
    return dropout.enabled ? static_cast<std::uint32_t*>(kept.data()) : nullptr;
  }
  void poison_results(const gpu::Stream& stream) const {
    for (const GuardedNumbers* numbers : {&output, &qkv_gradient, &log_sums, &scratch, &kept}) {
      numbers->poison(stream);
    }
  }
  cudaError_t forward(const AttentionDropout& dropout, const gpu::Stream& stream) const {
    return kernels::attention_forward(precision, shape, qkv.data(), dropout, output.data(),
                                      static_cast<float*>(log_sums.data()), mask(dropout),
                                      stream.get());
  }
  cudaError_t backward(const AttentionDropout& dropout, const gpu::Stream& stream) const {
    return kernels::attention_backward(
        precision, shape, qkv.data(), output.data(), output_gradient.data(),
        static_cast<const float*>(log_sums.data()), mask(dropout), dropout,
        static_cast<float*>(scratch.data()), qkv_gradient.data(), stream.get());
  }

  TrainingPrecision precision;
  AttentionShape shape;
  GuardedNumbers qkv;
  GuardedNumbers output;
  GuardedNumbers output_gradient;
  GuardedNumbers qkv_gradient;
  GuardedNumbers log_sums;
  GuardedNumbers scratch;
  GuardedNumbers kept;
};

}  // namespace linkgain::testing

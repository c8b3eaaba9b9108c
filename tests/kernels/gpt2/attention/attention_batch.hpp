#pragma once

#include <cstdint>
#include <vector>

#include "kernels/gpt2/attention/attention.hpp"
#include "kernels/gpt2/device_array.hpp"
#include "kernels/random/philox.hpp"
#include "support/training_precisions.hpp"
#include "worker/gpu/gpu_fixture.hpp"

/// What tests and timings of attention share: numbers in a precision's memory, and a batch on a
/// device.
namespace linkgain::test {

using kernels::AttentionDropout;
using kernels::AttentionShape;
using kernels::DeviceArray;
using kernels::TrainingPrecision;

inline kernels::ElementType element_type(TrainingPrecision precision) {
  return precision == TrainingPrecision::bf16 ? kernels::ElementType::bfloat16
                                              : kernels::ElementType::float32;
}

/// Draws standard normal numbers times `deviation`, rounded to what the precision's memory holds.
inline std::vector<double> normal_numbers(TrainingPrecision precision, std::int64_t count,
                                          std::uint32_t place, double deviation) {
  const kernels::RandomSequence sequence{7, 9, place, 0};
  std::vector<double> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = static_cast<float>(kernels::random_normal(sequence, i) * deviation);
    numbers[i] = kernels::rounded_to(element_type(precision), number);
  }
  return numbers;
}

/// Everything that both passes take, on the current device.
struct AttentionBatch {
  AttentionBatch(TrainingPrecision of, const AttentionShape& with)
      : precision(of),
        shape(with),
        qkv(element_type(of), 3 * outputs()),
        output(element_type(of), outputs()),
        output_gradient(element_type(of), outputs()),
        qkv_gradient(element_type(of), 3 * outputs()),
        lse(kernels::ElementType::float32, queries()),
        scratch(kernels::scratch_of(kernels::attention_scratch_bytes(with))),
        dropout_bits(kernels::scratch_of(kernels::attention_mask_bytes(with))) {}

  std::int64_t queries() const { return std::int64_t{shape.samples} * shape.heads * shape.length; }
  std::int64_t outputs() const { return queries() * shape.head_channels; }
  std::uint32_t* mask(const AttentionDropout& dropout) const {
    return dropout.enabled ? static_cast<std::uint32_t*>(dropout_bits.data()) : nullptr;
  }
  void poison_results() const {
    for (const DeviceArray* array : {&output, &qkv_gradient, &lse, &scratch, &dropout_bits}) {
      array->poison();
    }
  }
  void expect_guards() const {
    for (const DeviceArray* array :
         {&qkv, &output, &output_gradient, &qkv_gradient, &lse, &scratch, &dropout_bits}) {
      array->bits();
    }
  }
  cudaError_t forward(const AttentionDropout& dropout, const gpu::Stream& stream) const {
    return kernels::attention_forward(precision, shape, qkv.data(), dropout, output.data(),
                                      lse.floats(), mask(dropout), stream.get());
  }
  cudaError_t backward(const AttentionDropout& dropout, const gpu::Stream& stream,
                       const kernels::WaitBound& bound = {}) const {
    return kernels::attention_backward(precision, shape, qkv.data(), output.data(),
                                       output_gradient.data(), lse.floats(), mask(dropout), dropout,
                                       scratch.floats(), qkv_gradient.data(), bound, stream.get());
  }

  TrainingPrecision precision;
  AttentionShape shape;
  DeviceArray qkv;
  DeviceArray output;
  DeviceArray output_gradient;
  DeviceArray qkv_gradient;
  DeviceArray lse;
  DeviceArray scratch;
  DeviceArray dropout_bits;
};

}  // namespace linkgain::test

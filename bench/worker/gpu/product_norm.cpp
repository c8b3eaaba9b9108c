#include "linkgain/gpu/product_norm.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>

#include "kernels/decoder/rms_norm.hpp"
#include "kernels/verify/pattern.hpp"
#include "kernels/verify/verification.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {
namespace {

constexpr int kElementBytes = 2;
constexpr float kEpsilon = 1e-5F;

Bytes bytes_of(std::int64_t elements) { return {elements * kElementBytes}; }

void fill(const DeviceBuffer& buffer, const kernels::Pattern& pattern, const Stream& stream) {
  check(kernels::fill_input(buffer.data(), buffer.size().value / kElementBytes, 0, pattern, 0,
                            stream.get()));
}

void clear(const DeviceBuffer& buffer, const Stream& stream) {
  check(cudaMemsetAsync(buffer.data(), 0, static_cast<std::size_t>(buffer.size().value),
                        stream.get()));
}

/// Returns numbers from -256 to 256, others for each seed.
kernels::Pattern numbers(std::uint32_t seed) {
  return kernels::make_pattern(kernels::ElementType::bfloat16, kernels::ReductionKind::max, 1,
                               seed);
}

}  // namespace

ProductNorm::ProductNorm(const ProductNormShape& shape, const Stream& stream)
    : shape_(shape),
      stream_(stream),
      products_(ProductSearch{.candidates = 1, .measure = false}),
      weights_(bytes_of(shape.inner * shape.hidden * shape.copies)),
      activations_(bytes_of(shape.tokens * std::max(shape.inner, shape.hidden))),
      gain_(bytes_of(shape.hidden)) {
  fill(weights_, numbers(1), stream);
  fill(activations_, numbers(2), stream);
  fill(gain_, numbers(3), stream);
  ProductShape product;
  product.rows = shape.tokens;
  product.columns = shape.hidden;
  product.inner = shape.inner;
  product.precision = kernels::TrainingPrecision::bf16;
  product.result = DataType::bfloat16;
  product.right_transposed = true;
  product.adds = true;
  plan_ = &products_.plan(product, {}, stream);
}

void ProductNorm::multiply(void* result) {
  const Bytes one = bytes_of(shape_.inner * shape_.hidden);
  ProductOperands operands;
  operands.left = activations_.data();
  operands.right = static_cast<const char*>(weights_.data()) + next_ * one.value;
  operands.result = result;
  products_.multiply(*plan_, operands, stream_);
  next_ = next_ + 1 == shape_.copies ? 0 : next_ + 1;
}

void ProductNorm::normalise(const void* rows) {
  check(kernels::rms_norm(rows, gain_.data(), activations_.data(), shape_.tokens,
                          static_cast<int>(shape_.hidden), kEpsilon, stream_.get()));
}

void ProductNorm::silence() {
  clear(activations_, stream_);
  clear(gain_, stream_);
}

const std::string& ProductNorm::algorithm() const {
  return plan_->candidates()[plan_->chosen()].algorithm;
}

}  // namespace linkgain::gpu

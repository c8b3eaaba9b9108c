#pragma once

#include <cstdint>
#include <string>

#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/matrix_product.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain::gpu {

/// What a decoder computes on a rank before and after a sum over the ranks, in bfloat16: the
/// product of activations (tokens × inner) and weights (inner × hidden), and the norm of the sum's
/// rows (RMSNorm), which makes the next product's activations. The norm's rows are written over the
/// first tokens × hidden of these, whatever inner is, so that each waits for the one before it.
struct ProductNormShape {
  std::int64_t tokens = 0;
  std::int64_t hidden = 0;
  std::int64_t inner = 0;
  std::int64_t copies = 1;  ///< of the weights, in turn, so that none is found in a cache
};

/// Owns weights and activations on the device that was current at construction; all its work is in
/// one stream. Algorithms are cuBLASLt's first offers, as frameworks take them. Neither copied nor
/// moved. Everything throws CudaError and MachineError.
class ProductNorm {
 public:
  /// Fills weights and activations with numbers. `stream` must outlive the object.
  ProductNorm(const ProductNormShape& shape, const Stream& stream);

  /// Enqueues result += activations × the next weights; `result` is tokens × hidden.
  void multiply(void* result);

  /// Enqueues activations = the norm of `rows`, tokens × hidden.
  void normalise(const void* rows);

  /// Enqueues that from now on activations are 0, so that products leave results as they are:
  /// data that was filled in can be checked behind them.
  void silence();

  /// Returns cuBLASLt's algorithm of the product.
  const std::string& algorithm() const;

 private:
  ProductNormShape shape_;
  const Stream& stream_;
  MatrixProducts products_;
  DeviceBuffer weights_;
  DeviceBuffer activations_;
  DeviceBuffer gain_;  ///< the norm's weight
  const ProductPlan* plan_ = nullptr;
  std::int64_t next_ = 0;  ///< of the weights
};

}  // namespace linkgain::gpu

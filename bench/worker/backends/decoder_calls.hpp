#pragma once

#include <memory>

#include "device_operation.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "nccl/batch_timer.hpp"

/// Cases with a product and a norm, as a decoder has them on each rank. All is local to the rank.
namespace linkgain {

/// Puts `call` between the two: each turn's product adds to its input, and the norm reads its
/// output. Throws CudaError, and MachineError where cuBLASLt lacks the product.
std::unique_ptr<DeviceCall> put_in_decoder(const Case& c, const BufferPlan& plan,
                                           const NcclContext& context,
                                           std::unique_ptr<DeviceCall> call);

/// Returns the two alone, of product_norm: what products add to is the output too. Throws the same.
std::unique_ptr<DeviceCall> make_product_norm(const Case& c, const BufferPlan& plan,
                                              const NcclContext& context);

}  // namespace linkgain

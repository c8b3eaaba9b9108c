#include "slot_pools.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>

#include "kernels/verify/verification.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/runtime/data_mapping.hpp"

namespace linkgain {
namespace {

void poison(void* memory, Bytes size, const gpu::Stream& stream) {
  if (size.value == 0) return;
  gpu::check(cudaMemsetAsync(memory, kernels::kPoisonByte, static_cast<std::size_t>(size.value),
                             stream.get()));
}

}  // namespace

SlotPools::SlotPools(const Case& c, const BufferPlan& plan, int rank)
    : rank_(rank),
      buffers_(rank_buffers(c, rank)),
      strides_(slot_strides(c, plan, rank)),
      slots_(plan.slots),
      element_bytes_(size_of(c.type)),
      in_place_(c.in_place) {}

void* SlotPools::input(std::int64_t slot) const {
  if (buffers_.input.value == 0) return nullptr;
  return first_ + slot * strides_.first + buffers_.input_offset.value;
}

void* SlotPools::output(std::int64_t slot) const {
  if (buffers_.output.value == 0) return nullptr;
  if (in_place_) return first_ + slot * strides_.first + buffers_.output_offset.value;
  return second_ + slot * strides_.second;
}

void SlotPools::fill(const kernels::Pattern& pattern, const gpu::Stream& stream) const {
  poison(first_, first_size(), stream);
  poison(second_, second_size(), stream);
  if (buffers_.input.value == 0) return;
  for (std::int64_t slot = 0; slot < slots_; ++slot) {
    gpu::check(kernels::fill_input(input(slot), buffers_.input.value / element_bytes_, 0,
                                   later_pattern(pattern, slot), rank_, stream.get()));
  }
}

}  // namespace linkgain

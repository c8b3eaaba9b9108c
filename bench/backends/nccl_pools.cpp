#include "nccl_pools.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>

#include "kernels/verification.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain {
namespace {

void* at(const NcclBuffer& pool, std::int64_t offset) {
  return static_cast<char*>(pool.data()) + offset;
}

void poison(const NcclBuffer& pool, cudaStream_t stream) {
  if (pool.size().value == 0) return;
  gpu::check(cudaMemsetAsync(pool.data(), kernels::kPoisonByte,
                             static_cast<std::size_t>(pool.size().value), stream));
}

}  // namespace

NcclPools::NcclPools(const Case& c, const BufferPlan& plan, const NcclContext& context)
    : buffers_(rank_buffers(c, context.rank)),
      slot_bytes_(slot_bytes(c, context.rank)),
      slots_(plan.slots),
      element_bytes_(size_of(c.type)),
      in_place_(c.in_place),
      context_(context),
      first_(Bytes{slot_bytes_.first * plan.slots}, c.buffers, context.communicator),
      second_(Bytes{slot_bytes_.second * plan.slots}, c.buffers, context.communicator) {}

void NcclPools::prepare() {
  first_.prepare();
  second_.prepare();
}

void* NcclPools::input(std::int64_t slot) const {
  if (buffers_.input.value == 0) return nullptr;
  return at(first_, slot * slot_bytes_.first + buffers_.input_offset.value);
}

void* NcclPools::output(std::int64_t slot) const {
  if (buffers_.output.value == 0) return nullptr;
  if (in_place_) return at(first_, slot * slot_bytes_.first + buffers_.output_offset.value);
  return at(second_, slot * slot_bytes_.second);
}

void NcclPools::fill(const kernels::Pattern& pattern) const {
  cudaStream_t stream = context_.stream->get();
  poison(first_, stream);
  poison(second_, stream);
  if (buffers_.input.value == 0) return;
  gpu::check(kernels::fill_input(input(0), buffers_.input.value / element_bytes_, 0, pattern,
                                 context_.rank, stream));
  copy_first_slot();
}

/// Doubling copies: few calls however many slots there are.
void NcclPools::copy_first_slot() const {
  for (std::int64_t filled = 1; filled < slots_; filled *= 2) {
    const std::int64_t count = std::min(filled, slots_ - filled);
    gpu::check(cudaMemcpyAsync(at(first_, filled * slot_bytes_.first), first_.data(),
                               static_cast<std::size_t>(count * slot_bytes_.first),
                               cudaMemcpyDeviceToDevice, context_.stream->get()));
  }
}

}  // namespace linkgain

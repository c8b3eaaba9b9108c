#include "nccl/pools.hpp"

namespace linkgain {

NcclPools::NcclPools(const Case& c, const BufferPlan& plan, const NcclContext& context)
    : context_(context),
      slots_(c, plan, context.rank),
      first_(slots_.first_size(), c.buffers, context.communicator),
      second_(slots_.second_size(), c.buffers, context.communicator) {
  slots_.set_memory(first_.data(), second_.data());
}

void NcclPools::prepare() {
  first_.prepare();
  second_.prepare();
}

}  // namespace linkgain

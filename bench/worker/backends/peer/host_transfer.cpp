#include "peer/host_transfer.hpp"

namespace linkgain {

HostTransfer::HostTransfer(const Case& c, const BufferPlan& plan, const NcclContext& context)
    : definition_(c),
      context_(context),
      slots_(c, plan, context.rank),
      device_(slots_.first_size()),
      host_(slots_.second_size()),
      worker_(c.kernel) {
  // Inputs and outputs take the same room.
  if (c.operation == OperationKind::host_to_device) {
    slots_.set_memory(host_.data(), device_.data());
  } else {
    slots_.set_memory(device_.data(), host_.data());
  }
}

void HostTransfer::do_prepare() {
  worker_.tune(slots_.output(0), slots_.input(0), definition_.size, *context_.stream);
}

void HostTransfer::do_enqueue(std::int64_t slot) {
  worker_.copy(slots_.output(slot), slots_.input(slot), definition_.size, *context_.stream);
}

}  // namespace linkgain

#include "nccl_device_call.hpp"

#include "linkgain/core/record.hpp"
#include "nccl_api.hpp"

namespace linkgain {

NcclDeviceCall::NcclDeviceCall(const Case& c, const BufferPlan& plan, const NcclContext& context)
    : call_{c,
            nccl_type(c.type),
            nccl_reduction(c.reduction),
            context.rank,
            context.communicator,
            context.stream->get()},
      pools_(c, plan, context) {}

void NcclDeviceCall::do_enqueue(std::int64_t slot) const {
  linkgain::enqueue(call_, pools_.input(slot), pools_.output(slot));
}

std::string NcclDeviceCall::do_form() const {
  return is_grouped(call_.definition.operation) ? std::string(kGroupedForm) : std::string{};
}

}  // namespace linkgain

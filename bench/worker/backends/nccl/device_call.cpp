#include "nccl/device_call.hpp"

#include "data_mapping.hpp"
#include "linkgain/record/record.hpp"
#include "nccl/api.hpp"

namespace linkgain {

NcclDeviceCall::NcclDeviceCall(const Case& c, const BufferPlan& plan, const NcclContext& context)
    : reduction_(c.reduction, c.type, context.rank, context.communicator),
      call_{c,
            nccl_type(c.type),
            reduction_.get(),
            context.rank,
            context.communicator,
            context.stream->get(),
            nccl_exchanges()},
      pools_(c, plan, context) {}

bool NcclDeviceCall::do_takes_part() const {
  return linkgain::takes_part(call_.definition, call_.rank);
}

void NcclDeviceCall::do_enqueue(std::int64_t slot) {
  linkgain::enqueue(call_, pools_.input(slot), pools_.output(slot));
}

std::string NcclDeviceCall::do_form() const {
  return is_grouped(call_) ? std::string(kGroupedForm) : std::string{};
}

}  // namespace linkgain

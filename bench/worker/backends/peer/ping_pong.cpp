#include "peer/ping_pong.hpp"

#include <fmt/format.h>

#include "data_mapping.hpp"
#include "kernels/latency/latency.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain {

FlagExchange::FlagExchange(const Case& c, const BufferPlan& plan, const NcclContext& context,
                           Session& session, bool through_host)
    : definition_(c),
      context_(context),
      peer_(sender_to(c, context.rank)),
      rounds_(plan.operations_per_slot / 2),
      through_host_(through_host),
      pools_(c, plan, context, session, Bytes{kernels::inbox_bytes(c.size.value)}, through_host) {}

void FlagExchange::do_enqueue(std::int64_t slot) {
  if (peer_ < 0) return;
  const kernels::PeerRegions& regions = pools_.memory().regions();
  const kernels::PingPong side{.inbox = regions.scratch[context_.rank],
                               .peer_inbox = regions.scratch[peer_],
                               .message = pools_.own().input(slot),
                               .received = pools_.own().output(slot),
                               .bytes = definition_.size.value,
                               .starts = context_.rank == definition_.pair->from};
  gpu::check(kernels::ping_pong(side, rounds_, rounds_done_, context_.stream->get()));
  rounds_done_ += static_cast<std::uint32_t>(rounds_);
}

std::string FlagExchange::do_form() const {
  if (peer_ < 0) return {};
  return fmt::format("kernel: flags in data, there and back, {}", pools_.memory().road());
}

std::optional<TransferPlan> FlagExchange::do_plan() const { return TransferPlan{"PUSH", "LL"}; }

}  // namespace linkgain

#include "device_calls.hpp"

#include "linkgain/base/errors.hpp"
#include "nccl/device_call.hpp"
#include "peer/host_staged_copy.hpp"
#include "peer/host_transfer.hpp"
#include "peer/kernel_all_reduce.hpp"
#include "peer/memory_copy.hpp"
#include "peer/ping_pong.hpp"
#include "peer/pointer_chase.hpp"

namespace linkgain {
namespace {

void require_road(const Session& session, const RankWorld& world) {
  if (!session.on_one_host()) {
    throw MachineError(
        "our own kernels and copies work within one host, these ranks are on several",
        "leave --kernels, copies and latencies out");
  }
  if (world.partly_joined) {
    throw MachineError("P2P joins some of these GPUs only, our own kernels and copies need all",
                       "choose GPUs that P2P joins with --gpus");
  }
  if (!world.has_road) {
    throw MachineError(
        "our own kernels and copies have neither P2P nor host memory: NCCL_SHM_DISABLE is set",
        "leave --kernels, copies and latencies out for this variant");
  }
}

}  // namespace

std::unique_ptr<DeviceCall> make_device_call(const Case& c, const BufferPlan& plan,
                                             const NcclContext& context, Session& session,
                                             const RankWorld& world) {
  if (is_local(c.operation)) return std::make_unique<HostTransfer>(c, plan, context);
  if (!is_own_work(c)) return std::make_unique<NcclDeviceCall>(c, plan, context);
  require_road(session, world);
  if (c.operation == OperationKind::latency) {
    return std::make_unique<FlagExchange>(c, plan, context, session, world.through_host);
  }
  if (c.operation == OperationKind::load_latency) {
    return std::make_unique<LoadChase>(c, plan, context, session, world.through_host);
  }
  if (!is_copy(c.operation)) {
    return std::make_unique<KernelAllReduce>(c, plan, context, session, world.multiprocessors,
                                             world.all_reduce_road);
  }
  if (!world.through_host) return std::make_unique<MemoryCopy>(c, plan, context, session);
  if (c.kernel) {
    throw MachineError("copies by kernel need P2P: through host memory copy engines make them",
                       "leave --kernels out of copies for this variant");
  }
  return std::make_unique<HostStagedCopy>(c, plan, context, session);
}

}  // namespace linkgain

#pragma once

#include <memory>

#include "device_call.hpp"
#include "kernels/all_reduce/all_reduce.hpp"
#include "linkgain/cases/buffer_plan.hpp"
#include "linkgain/runtime/session.hpp"
#include "nccl/context.hpp"

namespace linkgain {

/// What must be known of all ranks; the same on each.
struct RankWorld {
  bool through_host =
      false;  ///< our own work keeps off P2P where NCCL must, and where there is none
  /// P2P joins some of the GPUs only: going through the host would hide that.
  bool partly_joined = false;
  bool has_road = true;  ///< false where host memory is forbidden as well
  kernels::AllReducePath all_reduce_road = kernels::AllReducePath::host_memory;
  int multiprocessors = 0;  ///< of the smallest device, as grids must be alike
  Bytes cache{};            ///< of the largest, as pools must be alike
};

/// What a case launches: NCCL's call, our own kernel, or work on memory by the road that there is.
/// Local to the rank. Throws MachineError where ranks or settings leave our own work no road, and
/// what the calls throw.
std::unique_ptr<DeviceCall> make_device_call(const Case& c, const BufferPlan& plan,
                                             const NcclContext& context, Session& session,
                                             const RankWorld& world);

}  // namespace linkgain

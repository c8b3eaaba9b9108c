#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends.hpp"
#include "decoder_calls.hpp"
#include "device_operation.hpp"
#include "kernels/timing/warm_up.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/device.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/shared_memory.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/telemetry/nvml.hpp"
#include "nccl/api.hpp"
#include "nccl/nccl_calls.hpp"
#include "peer/peer_calls.hpp"

namespace linkgain {
namespace {

/// Makes the CUDA device of this rank current: that which stands at its place on its host in
/// `gpus`, or has that number. Throws MachineError where there is none.
int take_device(const Session& session, const std::vector<int>& gpus) {
  require_driver_for(gpu::runtime_version(), gpu::driver_version().value_or(""));
  std::string reason;
  const int count = gpu::device_count(&reason);
  if (count == 0) refuse_without_gpus(reason);
  const auto place = static_cast<std::size_t>(session.local_rank());
  if (!gpus.empty() && place >= gpus.size()) {
    throw MachineError(fmt::format("rank {} has no GPU: --gpus names {} for each host",
                                   session.rank(), gpus.size()),
                       "start as many ranks on a host as --gpus names GPUs");
  }
  const int device = gpus.empty() ? session.local_rank() : gpus[place];
  if (device >= count) {
    throw MachineError(fmt::format("rank {} has no GPU: {} are there", session.rank(), count),
                       "start no more ranks (-g) than there are GPUs, which nvidia-smi -L lists");
  }
  gpu::check(cudaSetDevice(device));
  return device;
}

/// Returns whether no variable of NCCL's keeps this rank from P2P and its device reaches all of
/// `gpus`.
bool can_use_p2p(const std::vector<std::string>& gpus) {
  for (const char* name : {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && forbids_p2p(name, value)) return false;
  }
  return std::all_of(gpus.begin(), gpus.end(), gpu::can_reach);
}

/// Returns the same for some of them, this rank's own aside.
bool can_use_p2p_with_some(const std::vector<std::string>& gpus, const std::string& own) {
  return std::any_of(gpus.begin(), gpus.end(),
                     [&](const std::string& gpu) { return gpu != own && can_use_p2p({gpu}); });
}

/// What must be known of all ranks; the same on each.
struct RankWorld {
  bool through_host =
      false;  ///< our own work keeps off P2P where NCCL must, and where there is none
  /// P2P joins some of the GPUs only: going through the host would hide that.
  bool partly_joined = false;
  bool has_path = true;  ///< false where host memory is forbidden as well
  kernels::AllReducePath all_reduce_path = kernels::AllReducePath::host_memory;
  int multiprocessors = 0;  ///< of the smallest device, as grids must be alike
  Bytes cache{};            ///< of the largest, as pools must be alike
};

/// Gathers what the ranks know of themselves; every rank must call it.
RankWorld survey_ranks(Session& session, const GpuInfo& own) {
  RankWorld world;
  const std::vector<std::string> gpus = session.share(own.pci_bus_id);
  world.through_host = session.max(can_use_p2p(gpus) ? 0.0 : 1.0) > 0.0;
  const bool some = can_use_p2p_with_some(gpus, own.pci_bus_id);
  world.partly_joined = session.max(world.through_host && some ? 1.0 : 0.0) > 0.0;
  const char* no_shared_memory = std::getenv("NCCL_SHM_DISABLE");
  const bool forbidden = no_shared_memory != nullptr && std::string_view(no_shared_memory) != "0";
  world.all_reduce_path =
      world.through_host ? kernels::AllReducePath::host_memory : peer_path(session, gpus);
  world.has_path = session.max(world.through_host && forbidden ? 1.0 : 0.0) == 0.0;
  world.multiprocessors = static_cast<int>(-session.max(-own.multiprocessors));
  world.cache = Bytes{static_cast<std::int64_t>(session.max(static_cast<double>(own.l2_bytes)))};
  return world;
}

void require_path(const Session& session, const RankWorld& world) {
  if (!session.on_one_host()) {
    throw MachineError(
        "our own kernels and copies work within one host, these ranks are on several",
        "leave --kernels, copies and latencies out");
  }
  if (world.partly_joined) {
    throw MachineError("P2P joins some of these GPUs only, our own kernels and copies need all",
                       "choose GPUs that P2P joins with --gpus");
  }
  if (!world.has_path) {
    throw MachineError(
        "our own kernels and copies have neither P2P nor host memory: NCCL_SHM_DISABLE is set",
        "leave --kernels, copies and latencies out for this variant");
  }
}

/// Requires that sums over symmetric memory are right in this NCCL, where a model would rely on
/// them.
void require_right_sums(const Case& c) {
  constexpr int kFirst = 22807;
  if (c.hidden == 0 || c.buffers != Buffers::symmetric || nccl().version() >= kFirst) return;
  throw MachineError(
      fmt::format("NCCL {} may give wrong sums of small messages in symmetric memory",
                  nccl_library_version()),
      "update to NCCL 2.28.7 or later");
}

/// Returns what a case launches: NCCL's call, our own kernel, or work on memory by the path that
/// there is. Local to the rank. Throws MachineError where ranks or settings leave our own work no
/// path, and what the calls throw.
std::unique_ptr<DeviceCall> make_device_call(const Case& c, const BufferPlan& plan,
                                             const NcclContext& context, Session& session,
                                             const RankWorld& world) {
  if (c.operation == OperationKind::product_norm) return make_product_norm(c, plan, context);
  if (is_local(c.operation)) return make_host_transfer(c, plan, context);
  require_right_sums(c);
  if (!is_own_work(c)) return make_nccl_call(c, plan, context);
  require_path(session, world);
  if (c.operation == OperationKind::latency) {
    return make_ping_pong(c, plan, context, session, world.through_host);
  }
  if (c.operation == OperationKind::load_latency) {
    return make_pointer_chase(c, plan, context, session, world.through_host);
  }
  if (!is_copy(c.operation)) {
    return make_kernel_all_reduce(c, plan, context, session, world.multiprocessors,
                                  world.all_reduce_path);
  }
  if (!world.through_host) return make_memory_copy(c, plan, context, session);
  if (c.kernel) {
    throw MachineError("copies by kernel need P2P: through host memory copy engines make them",
                       "leave --kernels out of copies for this variant");
  }
  return make_host_staged_copy(c, plan, context, session);
}

/// Large enough to outweigh a copy's start, small enough to cost a run nothing.
constexpr Bytes kHostCopySize{std::int64_t{64} << 20};

class GpuHostCopy : public HostCopy {
 private:
  Bytes do_size() const override { return kHostCopySize; }
  double do_to_device(int copies) override {
    return rate(&gpu::PinnedCopy::copy_to_device, copies);
  }
  double do_from_device(int copies) override {
    return rate(&gpu::PinnedCopy::copy_from_device, copies);
  }

  double rate(void (gpu::PinnedCopy::*copy)(), int copies) {
    (copy_.*copy)();
    start_.record(copy_.stream());
    for (int i = 0; i < copies; ++i) (copy_.*copy)();
    stop_.record(copy_.stream());
    stop_.synchronize();
    const double bytes = static_cast<double>(kHostCopySize.value) * copies;
    return bytes / gpu::elapsed(start_, stop_).value / 1e9;
  }

  gpu::PinnedCopy copy_{kHostCopySize};
  gpu::Event start_;
  gpu::Event stop_;
};

class NcclBackend : public Backend {
 public:
  NcclBackend(Session& session, const std::vector<int>& gpus, CommunicatorSettings settings,
              Seconds timeout)
      : session_(session),
        settings_(settings),
        info_(gpu::device_info(take_device(session, gpus))),
        waits_(session.rank(), timeout) {}

 private:
  BackendKind do_kind() const override { return BackendKind::nccl; }
  std::optional<GpuInfo> do_gpu() const override { return info_; }
  void do_connect() override {
    communicator_ = make_communicator(session_, settings_);
    watched_.watch(communicator_.get());
    // NCCL connects ranks by their first operation. Here jobs that start together do so together,
    // in the first case one after the other.
    timer_.line_up(communicator_.get(), stream_);
    stream_.synchronize();
    world_ = survey_ranks(session_, info_);
  }

  std::unique_ptr<Operation> do_open(const Case& c,
                                     const std::optional<Rotation>& rotation) override {
    const NcclContext context{communicator_.get(), session_.rank(), &stream_, &timer_, &waits_};
    const BufferPlan plan = plan_buffers(c, world_.cache, rotation);
    std::unique_ptr<DeviceCall> call = make_device_call(c, plan, context, session_, world_);
    if (uses_link(c) && c.hidden != 0) call = put_in_decoder(c, plan, context, std::move(call));
    return make_device_operation(c, plan, context, std::move(call));
  }

  std::unique_ptr<TrainingCommunication> do_open_training_communication(
      void* model_stream) override {
    if (model_stream == nullptr) {
      throw MachineError("the nccl backend does not reach the memory of a CPU",
                         "train with --backend mpi");
    }
    return make_nccl_training_communication(communicator_.get(),
                                            static_cast<cudaStream_t>(model_stream));
  }

  std::unique_ptr<HostCopy> do_open_host_copy() override { return std::make_unique<GpuHostCopy>(); }

  void do_keep_busy(Seconds time) override {
    gpu::check(kernels::warm_up(stream_.get(), time.value * 1e6));
    stream_.synchronize();
  }

  void do_describe(Software& software) const override { describe_nccl(software); }
  LogSwitch do_log_switch() const override { return nccl().reset_debug_init; }
  std::optional<Path> do_path() const override { return std::nullopt; }
  kernels::WaitBound do_wait_bound() const override { return waits_.bound(); }
  void do_require_waits() const override { waits_.require_none(); }

  std::optional<std::string> do_failure() const override {
    if (auto waited = waits_.failure()) return waited;
    return watched_.failure();
  }

  void do_abort() noexcept override { watched_.abort(); }

  Session& session_;
  CommunicatorSettings settings_;
  GpuInfo info_;
  gpu::DeviceWaits waits_;
  gpu::Stream stream_;
  BatchTimer timer_;
  Communicator communicator_;
  WatchedCommunicator watched_;  ///< by the watchdog's thread
  RankWorld world_;
};

}  // namespace

void describe_nccl(Software& software) {
  software.cuda_runtime = gpu::runtime_version();
  software.cuda_driver = gpu::driver_version();
  describe_nccl_library(software);
}

std::unique_ptr<Backend> make_nccl_backend(Session& session, const std::vector<int>& gpus,
                                           CommunicatorSettings settings, Seconds timeout) {
  nccl();  // where there is none, that is the reason, not what CUDA lacks as well
  return std::make_unique<NcclBackend>(session, gpus, settings, timeout);
}

}  // namespace linkgain

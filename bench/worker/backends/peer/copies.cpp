#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/copy/copy.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/runtime/data_mapping.hpp"
#include "peer/memory.hpp"
#include "peer/peer_calls.hpp"
#include "slot_pools.hpp"

namespace linkgain {
namespace {

/// Returns seconds that one copy takes, the best of some: others may use the link meanwhile.
double time_of(void* to, const void* from, Bytes size, const kernels::CopyShape& shape,
               const gpu::Stream& stream) {
  constexpr int kTries = 3;
  constexpr std::int64_t kTriedBytes = std::int64_t{64} << 20;
  const std::int64_t copies = std::clamp<std::int64_t>(kTriedBytes / size.value, 1, 64);
  gpu::Event start;
  gpu::Event stop;
  double best = 0.0;
  for (int i = 0; i < kTries; ++i) {
    start.record(stream);
    for (std::int64_t copy = 0; copy < copies; ++copy) {
      gpu::check(kernels::copy(to, from, size.value, shape, stream.get()));
    }
    stop.record(stream);
    stop.synchronize();
    const double time = gpu::elapsed(start, stop).value;
    best = i == 0 ? time : std::min(best, time);
  }
  return best;
}

/// Moves bytes between two places that the current device reaches: by its copy engine, or by a
/// kernel, whose shape is found by trying.
class CopyWorker {
 public:
  explicit CopyWorker(bool by_kernel) : by_kernel_(by_kernel) {
    if (by_kernel) shape_ = kernels::kCopyShapes[0];
  }

  /// Tries the kernel's shapes on these places and keeps the fastest; nothing to do for a copy
  /// engine. Blocks. Throws CudaError.
  /// A shape further down the list must be clearly better, so that chance does not choose.
  void tune(void* to, const void* from, Bytes size, const gpu::Stream& stream) {
    constexpr double kClearly = 0.997;
    if (!by_kernel_) return;
    double best = time_of(to, from, size, *shape_, stream);
    for (const kernels::CopyShape& shape : kernels::kCopyShapes) {
      const double time = time_of(to, from, size, shape, stream);
      if (time >= kClearly * best) continue;
      best = time;
      shape_ = shape;
    }
  }

  /// Puts a copy into the stream. Throws CudaError.
  void copy(void* to, const void* from, Bytes size, const gpu::Stream& stream) const {
    if (by_kernel_) {
      gpu::check(kernels::copy(to, from, size.value, *shape_, stream.get()));
      return;
    }
    gpu::check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(size.value), cudaMemcpyDefault,
                               stream.get()));
  }

  /// Returns "copy engine", "kernel of 132 x 512 threads, 4 vectors each"; before tune() "kernel".
  std::string form() const {
    if (!by_kernel_) return "copy engine";
    const std::string blocks =
        shape_->blocks_per_multiprocessor == 0
            ? "blocks for all of it"
            : fmt::format("{} a multiprocessor",
                          counted(shape_->blocks_per_multiprocessor, "block", "blocks"));
    return fmt::format("kernel: {} of {} threads, {} x 16 bytes each", blocks, shape_->threads,
                       shape_->vectors);
  }

 private:
  bool by_kernel_;
  std::optional<kernels::CopyShape> shape_;
};

class HostTransfer : public DeviceCall {
 public:
  HostTransfer(const Case& c, const BufferPlan& plan, const NcclContext& context)
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

 private:
  void do_prepare() override {
    worker_.tune(slots_.output(0), slots_.input(0), definition_.size, *context_.stream);
  }

  bool do_takes_part() const override { return true; }
  void do_enqueue(std::int64_t slot) override {
    worker_.copy(slots_.output(slot), slots_.input(slot), definition_.size, *context_.stream);
  }

  void* do_output(std::int64_t slot) const override { return slots_.output(slot); }
  void do_fill(const kernels::Pattern& pattern) override { slots_.fill(pattern, *context_.stream); }
  std::string do_form() const override { return worker_.form(); }
  std::optional<bool> do_through_host() const override { return true; }
  std::optional<TransferPlan> do_plan() const override { return std::nullopt; }

  Case definition_;
  NcclContext context_;
  SlotPools slots_;
  gpu::DeviceBuffer device_;
  gpu::PinnedBuffer host_;
  CopyWorker worker_;
};

std::optional<Transfer> executed_by(const Case& c, int rank) {
  for (const Transfer& transfer : transfers_of(c)) {
    if (executor_of(c, transfer) == rank) return transfer;
  }
  return std::nullopt;
}

class MemoryCopy : public DeviceCall {
 public:
  MemoryCopy(const Case& c, const BufferPlan& plan, const NcclContext& context, Session& session)
      : definition_(c),
        context_(context),
        own_(executed_by(c, context.rank)),
        pools_(c, plan, context, session, Bytes{1}, false),
        worker_(c.kernel) {}

 private:
  /// Tries the forms; the trials write into outputs, which hold nothing yet.
  void do_prepare() override {
    pools_.join();
    if (own_) worker_.tune(target(0), source(0), definition_.size, *context_.stream);
  }

  void do_release() override { pools_.release(); }
  bool do_takes_part() const override { return own_.has_value(); }
  void do_enqueue(std::int64_t slot) override {
    if (own_) worker_.copy(target(slot), source(slot), definition_.size, *context_.stream);
  }

  void* do_output(std::int64_t slot) const override { return pools_.own().output(slot); }
  void do_fill(const kernels::Pattern& pattern) override { pools_.fill(pattern); }
  std::string do_form() const override {
    if (!own_) return {};
    return fmt::format("{}, {}", worker_.form(), pools_.memory().transport());
  }

  std::optional<bool> do_through_host() const override { return false; }
  std::optional<TransferPlan> do_plan() const override {
    const bool pulls = executor_of(definition_, {0, 1, {}}) == 1;
    return TransferPlan{pulls ? "PULL" : "PUSH", std::string(kSimple)};
  }

  void* target(std::int64_t slot) const {
    return static_cast<char*>(pools_.output(own_->to, slot)) + own_->offset.value;
  }

  const void* source(std::int64_t slot) const { return pools_.input(own_->from, slot); }

  Case definition_;
  NcclContext context_;
  std::optional<Transfer> own_;  ///< what this rank moves
  PeerPools pools_;
  CopyWorker worker_;
};

}  // namespace

std::unique_ptr<DeviceCall> make_host_transfer(const Case& c, const BufferPlan& plan,
                                               const NcclContext& context) {
  return std::make_unique<HostTransfer>(c, plan, context);
}

std::unique_ptr<DeviceCall> make_memory_copy(const Case& c, const BufferPlan& plan,
                                             const NcclContext& context, Session& session) {
  return std::make_unique<MemoryCopy>(c, plan, context, session);
}

}  // namespace linkgain

#include "peer/copy_worker.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/event.hpp"

namespace linkgain {
namespace {

/// Seconds that one copy takes, the best of some: others may use the link meanwhile.
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

}  // namespace

CopyWorker::CopyWorker(bool by_kernel) : by_kernel_(by_kernel) {
  if (by_kernel) shape_ = kernels::kCopyShapes[0];
}

/// A shape further down the list must be clearly better, so that chance does not choose.
void CopyWorker::tune(void* to, const void* from, Bytes size, const gpu::Stream& stream) {
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

void CopyWorker::copy(void* to, const void* from, Bytes size, const gpu::Stream& stream) const {
  if (by_kernel_) {
    gpu::check(kernels::copy(to, from, size.value, *shape_, stream.get()));
    return;
  }
  gpu::check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(size.value), cudaMemcpyDefault,
                             stream.get()));
}

std::string CopyWorker::form() const {
  if (!by_kernel_) return "copy engine";
  const std::string blocks =
      shape_->blocks_per_multiprocessor == 0
          ? "blocks for all of it"
          : fmt::format("{} a multiprocessor",
                        counted(shape_->blocks_per_multiprocessor, "block", "blocks"));
  return fmt::format("kernel: {} of {} threads, {} x 16 bytes each", blocks, shape_->threads,
                     shape_->vectors);
}

}  // namespace linkgain

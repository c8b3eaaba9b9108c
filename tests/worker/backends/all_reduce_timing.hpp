#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/all_reduce/all_reduce.hpp"
#include "kernels/verify/pattern.hpp"
#include "kernels/verify/verification.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/graph.hpp"
#include "linkgain/gpu/stream.hpp"
#include "linkgain/runtime/session.hpp"
#include "linkgain/statistics/statistics.hpp"
#include "nccl/api.hpp"
#include "nccl/batch_timer.hpp"
#include "peer/memory.hpp"

/// How long an all-reduce takes by each of our methods and by NCCL.
namespace linkgain::test {

/// Those that are near the fastest. Where every rank gets all data and not a share, that is up to a
/// size.
inline std::vector<kernels::AllReduceMethod> methods_for(Bytes size, int ranks,
                                                         kernels::AllReducePath path) {
  constexpr std::int64_t kMostSent = std::int64_t{16} << 20;
  const bool through_host = path == kernels::AllReducePath::host_memory;
  std::vector<kernels::AllReduceMethod> methods;
  for (const kernels::AllReduceTraits& each : kernels::kAllReduceMethods) {
    if (each.has(through_host ? kernels::kThroughHost : kernels::kByP2p) &&
        (each.has(kernels::kDataByShares) || size.value * (ranks - 1) <= kMostSent) &&
        (!each.has(kernels::kWholeVectors) || path == kernels::AllReducePath::p2p_atomics) &&
        kernels::is_built(each.method)) {
      methods.push_back(each.method);
    }
  }
  return methods;
}

/// One size on this rank; all ranks call the same. Operations of a graph take buffers in turn, so
/// that they find their data cold.
class SizeMeasurement {
 public:
  SizeMeasurement(Session& session, ncclComm_t communicator, Bytes size,
                  kernels::AllReducePath path)
      : session_(session),
        communicator_(communicator),
        size_(size),
        pitch_(round_up(size.value, kPitch)),
        slots_(std::clamp<std::int64_t>(kColdBytes / (2 * pitch_), 1, kMostSlots)),
        scratch_(scratch_for(size, session.ranks(), path)),
        nccl_data_(Bytes{2 * pitch_ * slots_}),
        memory_(session, context(), Bytes{2 * pitch_ * slots_}, Bytes{scratch_},
                path == kernels::AllReducePath::host_memory
                    ? PeerTransport{true, {}}
                    : PeerTransport{false, device_api_problem()}) {
    memory_.join();
    for (void* const data : {memory_.data(), nccl_data_.data()}) fill(static_cast<char*>(data));
  }

  /// Of one operation, of the slowest rank; the median of kSamples.
  Seconds time(kernels::AllReduceMethod method, int blocks) {
    gpu::check(cudaMemset(memory_.regions().scratch[session_.rank()], 0,
                          static_cast<std::size_t>(scratch_)));
    gpu::check(cudaDeviceSynchronize());
    session_.barrier();
    return time([&](std::int64_t slot) {
      const kernels::DataOffsets where{2 * slot * pitch_, (2 * slot + 1) * pitch_};
      gpu::check(kernels::all_reduce(method, memory_.regions(), where,
                                     kernels::ElementType::float32, elements(), elements(), blocks,
                                     stream_.get()));
    });
  }

  Seconds time_nccl() {
    return time([&](std::int64_t slot) {
      auto* const input = static_cast<char*>(nccl_data_.data()) + 2 * slot * pitch_;
      check(nccl().all_reduce(input, input + pitch_, static_cast<std::size_t>(elements()),
                              ncclFloat, ncclSum, communicator_, stream_.get()));
    });
  }

 private:
  static constexpr std::int64_t kPitch = 128;
  static constexpr std::int64_t kColdBytes = std::int64_t{256} << 20;
  static constexpr std::int64_t kMostSlots = 64;
  static constexpr int kSamples = 7;
  static constexpr std::uint32_t kSeed = 1;
  static constexpr double kSampleTime = 5e-3;

  static std::int64_t scratch_for(Bytes size, int ranks, kernels::AllReducePath path) {
    std::int64_t most = 0;
    for (const kernels::AllReduceMethod each : methods_for(size, ranks, path)) {
      most = std::max(most, kernels::all_reduce_scratch(each, size.value, ranks));
    }
    return most;
  }

  NcclContext context() {
    NcclContext context;
    context.communicator = communicator_;
    context.rank = session_.rank();
    context.stream = &stream_;
    return context;
  }

  /// Every slot's input, with such data as linkgain measures with.
  void fill(char* data) {
    const kernels::Pattern pattern = kernels::make_pattern(
        kernels::ElementType::float32, kernels::ReductionKind::sum, session_.ranks(), kSeed);
    for (std::int64_t slot = 0; slot < slots_; ++slot) {
      gpu::check(kernels::fill_input(data + 2 * slot * pitch_, elements(), 0, pattern,
                                     session_.rank(), stream_.get()));
    }
    stream_.synchronize();
  }

  std::int64_t elements() const {
    return std::max<std::int64_t>(1, size_.value / static_cast<std::int64_t>(sizeof(float)));
  }

  Seconds time(const std::function<void(std::int64_t)>& enqueue) {
    const gpu::GraphExecutable graph = gpu::capture(stream_, [&] {
      for (std::int64_t slot = 0; slot < slots_; ++slot) enqueue(slot);
    });
    sample(graph, 1);
    const double first = sample(graph, 1);
    const int launches =
        std::clamp(static_cast<int>(kSampleTime / (first * static_cast<double>(slots_))), 1, 1000);
    std::vector<double> samples;
    for (int i = 0; i < kSamples; ++i) samples.push_back(sample(graph, launches));
    return Seconds{median(samples)};
  }

  double sample(const gpu::GraphExecutable& graph, int launches) {
    const auto launch = [&](int times) {
      for (int i = 0; i < times; ++i) graph.launch(stream_);
    };
    const Seconds time = timer_.time(
        communicator_, stream_, [&] { launch(1); }, [&] { launch(launches - 1); });
    return session_.max(time.value) / (launches * static_cast<double>(slots_));
  }

  Session& session_;
  ncclComm_t communicator_;
  Bytes size_;
  std::int64_t pitch_;
  std::int64_t slots_;
  std::int64_t scratch_;
  gpu::Stream stream_;
  BatchTimer timer_;
  gpu::DeviceBuffer nccl_data_;  ///< which NCCL does not know of before, as most programs' is
  PeerMemory memory_;
};

}  // namespace linkgain::test

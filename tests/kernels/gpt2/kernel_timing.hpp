#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/common/device_attribute.hpp"
#include "kernels/common/element.hpp"
#include "kernels/gpt2/weights.hpp"
#include "kernels/timing/warm_up.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/stream.hpp"

// Times kernels with data that no cache has: launches go round through sets of buffers that
// together are larger than twice the L2 cache.
namespace linkgain::kernels {

/// Hands out one set of a kernel's buffers. Without memory it only counts bytes.
class BufferSet {
 public:
  explicit BufferSet(void* memory) : memory_(static_cast<char*>(memory)) {}

  std::int64_t bytes() const { return used_; }

  /// Fills in positive numbers around 1, float32 or bfloat16, so that no kernel meets a NaN.
  void* values(ElementType type, std::int64_t count) {
    void* place = take(count * traits_of(type).bytes);
    if (memory_ == nullptr) return place;
    if (type == ElementType::float32) {
      gpu::check(fill_initial_weights(static_cast<float*>(place), count, 1, 0, kOnes, nullptr));
    } else {
      const gpu::DeviceBuffer exact(Bytes{4 * count});
      auto* floats = static_cast<float*>(exact.data());
      gpu::check(fill_initial_weights(floats, count, 1, 0, kOnes, nullptr));
      gpu::check(copy_as_bfloat16(floats, place, count, nullptr));
      gpu::check(cudaDeviceSynchronize());
    }
    return place;
  }

  float* floats(std::int64_t count) {
    return static_cast<float*>(values(ElementType::float32, count));
  }

  std::int32_t* words(const std::vector<std::int32_t>& words) {
    void* place = take(static_cast<std::int64_t>(4 * words.size()));
    if (memory_ != nullptr) {
      gpu::check(cudaMemcpy(place, words.data(), 4 * words.size(), cudaMemcpyHostToDevice));
    }
    return static_cast<std::int32_t*>(place);
  }

  void* scratch(std::int64_t bytes) { return take(bytes); }

 private:
  static constexpr WeightDistribution kOnes{1.0, 0.1};

  void* take(std::int64_t bytes) {
    constexpr std::int64_t kAlignment = 256;
    void* place = memory_ == nullptr ? nullptr : memory_ + used_;
    used_ += round_up(bytes, kAlignment);
    return place;
  }

  char* memory_;
  std::int64_t used_ = 0;
};

using Launch = std::function<cudaError_t(cudaStream_t)>;

struct TimedKernel {
  std::string name;
  ElementType type;
  std::int64_t bytes;  ///< that a launch must at least read and write
  /// A launch with buffers of its own from the set; makes no launch itself.
  std::function<Launch(BufferSet&)> prepare;
};

/// A kernel's launches, each with buffers of its own.
class PreparedKernel {
 public:
  PreparedKernel(const TimedKernel& kernel, std::int64_t cache_bytes) : memory_(Bytes{0}) {
    BufferSet counting(nullptr);
    kernel.prepare(counting);
    const std::int64_t touched = std::min(counting.bytes(), kernel.bytes);
    const std::int64_t sets = 2 * cache_bytes / touched + 2;
    memory_ = gpu::DeviceBuffer(Bytes{sets * counting.bytes()});
    for (std::int64_t i = 0; i < sets; ++i) {
      BufferSet set(static_cast<char*>(memory_.data()) + i * counting.bytes());
      launches_.push_back(kernel.prepare(set));
    }
    gpu::check(cudaDeviceSynchronize());
  }

  /// Enqueues the i-th launch of a row.
  void launch(std::size_t i, const gpu::Stream& stream) const {
    gpu::check(launches_[i % launches_.size()](stream.get()));
  }

  std::size_t count() const { return launches_.size(); }

 private:
  gpu::DeviceBuffer memory_;
  std::vector<Launch> launches_;
};

class KernelTimer {
 public:
  KernelTimer() {
    int bytes = 0;
    gpu::check(device_attribute(cudaDevAttrL2CacheSize, &bytes));
    cache_bytes_ = bytes;
  }

  PreparedKernel prepare(const TimedKernel& kernel) const { return {kernel, cache_bytes_}; }

  /// Times one launch in a row of them: the median of some rows.
  double microseconds(const PreparedKernel& kernel) const {
    constexpr double kRow = 3e3;  // microseconds
    constexpr std::size_t kFewest = 10;
    constexpr std::size_t kMost = 300;  // no more fit into the queue before a device
    const double guess = row(kernel, std::max(kFewest, kernel.count()));
    const std::size_t count = std::clamp(static_cast<std::size_t>(kRow / guess), kFewest, kMost);
    std::vector<double> times;
    for (int i = 0; i < 11; ++i) times.push_back(row(kernel, count));
    std::ranges::sort(times);
    return times[times.size() / 2];
  }

 private:
  /// Launches wait in the queue until all are there, so that the host's time is not seen.
  double row(const PreparedKernel& kernel, std::size_t count) const {
    constexpr double kHeadStart = 6.0;  // microseconds for each launch
    gpu::Event start;
    gpu::Event stop;
    gpu::check(warm_up(stream_.get(), kHeadStart * static_cast<double>(count)));
    kernel.launch(0, stream_);  // so that the first mark has work before it
    start.record(stream_);
    for (std::size_t i = 1; i <= count; ++i) kernel.launch(i, stream_);
    stop.record(stream_);
    stop.synchronize();
    return elapsed(start, stop).value * 1e6 / static_cast<double>(count);
  }

  gpu::Stream stream_;
  std::int64_t cache_bytes_ = 0;
};

}  // namespace linkgain::kernels

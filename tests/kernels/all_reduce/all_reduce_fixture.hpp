#pragma once

// All ranks are on one device, each in a stream of its own: what they reach of each other is the
// same memory that links would lead to. Few blocks, so that those of all ranks run at once.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/all_reduce/all_reduce.hpp"
#include "kernels/verify/verification.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "worker/gpu/gpu_fixture.hpp"

namespace linkgain::kernels {

struct Setting {
  AllReduceMethod method = AllReduceMethod::ll;
  ElementType type = ElementType::float32;
  std::int64_t elements = 1;
  int ranks = 2;
  int blocks = 1;
  bool in_place = false;
  bool host_scratch = false;
};

inline std::string describe(const Setting& setting) {
  return "method " + std::to_string(static_cast<int>(setting.method)) + ", type " +
         std::to_string(static_cast<int>(setting.type)) + ", " + std::to_string(setting.elements) +
         " elements, " + std::to_string(setting.ranks) + " ranks, " +
         std::to_string(setting.blocks) + " blocks" + (setting.in_place ? ", in place" : "") +
         (setting.host_scratch ? ", host scratch" : "");
}

/// The memory of one rank: input and output, scratch, and what must not be touched after either.
class Rank {
 public:
  Rank(const Setting& setting, std::int64_t scratch_bytes)
      : bytes_(setting.elements * traits_of(setting.type).bytes),
        padded_((bytes_ + 15) / 16 * 16),
        in_place_(setting.in_place),
        scratch_bytes_(scratch_bytes),
        data_(Bytes{2 * padded_ + kGuardBytes}) {
    if (setting.host_scratch) {
      host_scratch_.emplace(Bytes{scratch_bytes + kGuardBytes});
    } else {
      scratch_.emplace(Bytes{scratch_bytes + kGuardBytes});
    }
    gpu::check(cudaMemset(scratch(), 0, static_cast<std::size_t>(scratch_bytes)));
    gpu::check(cudaMemset(end_of_scratch(), kPoisonByte, kGuardBytes));
    gpu::check(cudaMemset(data(), kPoisonByte, static_cast<std::size_t>(data_.size().value)));
  }

  void* data() const { return data_.data(); }
  void* scratch() const { return host_scratch_ ? host_scratch_->data() : scratch_->data(); }
  void* output() const { return static_cast<char*>(data()) + offsets().output; }
  DataOffsets offsets() const { return {0, in_place_ ? 0 : padded_}; }
  const gpu::Stream& stream() const { return stream_; }

  void refill(const Pattern& pattern, std::int64_t first_index, int rank) {
    gpu::check(cudaMemsetAsync(data(), kPoisonByte, static_cast<std::size_t>(data_.size().value),
                               stream_.get()));
    gpu::check(fill_input(data(), bytes_ / traits_of(pattern.type).bytes, first_index, pattern,
                          rank, stream_.get()));
  }

  CheckResult check_output(const Pattern& pattern, std::int64_t first_index) {
    auto* found = static_cast<CheckResult*>(result_.data());
    gpu::check(clear_result(found, stream_.get()));
    gpu::check(check_reduction(output(), bytes_ / traits_of(pattern.type).bytes, first_index,
                               pattern, found, stream_.get()));
    CheckResult result;
    gpu::check(
        cudaMemcpyAsync(&result, found, sizeof result, cudaMemcpyDeviceToHost, stream_.get()));
    stream_.synchronize();
    return result;
  }

  void write(const std::vector<float>& numbers) const {
    gpu::check(
        cudaMemcpy(data(), numbers.data(), numbers.size() * sizeof(float), cudaMemcpyHostToDevice));
  }

  /// When all that was enqueued is done.
  std::vector<float> read(std::int64_t elements) const {
    stream_.synchronize();
    std::vector<float> numbers(static_cast<std::size_t>(elements));
    gpu::check(cudaMemcpy(numbers.data(), output(), numbers.size() * sizeof(float),
                          cudaMemcpyDeviceToHost));
    return numbers;
  }

  bool guards_are_untouched() const {
    return is_poison(static_cast<char*>(data()) + 2 * padded_) && is_poison(end_of_scratch());
  }

 private:
  static constexpr std::int64_t kGuardBytes = 256;

  char* end_of_scratch() const { return static_cast<char*>(scratch()) + scratch_bytes_; }

  static bool is_poison(const char* guard) {
    std::vector<std::uint8_t> found(kGuardBytes);
    gpu::check(cudaMemcpy(found.data(), guard, kGuardBytes, cudaMemcpyDefault));
    return found == std::vector<std::uint8_t>(kGuardBytes, kPoisonByte);
  }

  std::int64_t bytes_;
  std::int64_t padded_;
  bool in_place_;
  std::int64_t scratch_bytes_;
  gpu::DeviceBuffer data_;
  std::optional<gpu::DeviceBuffer> scratch_;
  std::optional<gpu::PinnedBuffer> host_scratch_;
  gpu::DeviceBuffer result_{Bytes{sizeof(CheckResult)}};
  gpu::Stream stream_;
};

class AllReduceKernels : public test::GpuTest {
 protected:
  static constexpr std::uint32_t kSeed = 77;

  void set_up(const Setting& setting) {
    setting_ = setting;
    pattern_ = make_pattern(setting.type, ReductionKind::sum, setting.ranks, kSeed);
    ranks_.clear();
    const std::int64_t scratch = all_reduce_scratch(
        setting.method, setting.elements * traits_of(setting.type).bytes, setting.ranks);
    for (int rank = 0; rank < setting.ranks; ++rank) {
      ranks_.push_back(std::make_unique<Rank>(setting, scratch));
    }
    gpu::check(cudaDeviceSynchronize());
  }

  PeerRegions regions_of(int rank) const {
    PeerRegions regions{};
    regions.ranks = setting_.ranks;
    regions.rank = rank;
    const bool all = traits_of(setting_.method).has(kReachesData);
    for (int peer = 0; peer < setting_.ranks; ++peer) {
      const Rank& other = *ranks_[static_cast<std::size_t>(peer)];
      regions.data[peer] = all || peer == rank ? other.data() : nullptr;
      regions.scratch[peer] = other.scratch();
    }
    return regions;
  }

  cudaError_t enqueue(int rank) const { return enqueue(rank, setting_.elements); }

  /// Of the first `elements`.
  cudaError_t enqueue(int rank, std::int64_t elements) const {
    const Rank& own = *ranks_[static_cast<std::size_t>(rank)];
    return all_reduce(setting_.method, regions_of(rank), own.offsets(), setting_.type, elements,
                      setting_.elements, setting_.blocks, own.stream().get(), bound_);
  }

  void refill(std::int64_t first_index) {
    for (int rank = 0; rank < setting_.ranks; ++rank) {
      ranks_[static_cast<std::size_t>(rank)]->refill(pattern_, first_index, rank);
    }
    gpu::check(cudaDeviceSynchronize());
  }

  void expect_right(std::int64_t first_index) {
    for (const auto& rank : ranks_) {
      const CheckResult result = rank->check_output(pattern_, first_index);
      ASSERT_EQ(result.wrong, 0u) << "element " << result.first_wrong_index << ": "
                                  << result.first_got << " for " << result.first_expected;
      ASSERT_TRUE(rank->guards_are_untouched());
    }
  }

  /// Several operations on the same scratch, the data new each time.
  void run(const Setting& setting) {
    SCOPED_TRACE(describe(setting));
    set_up(setting);
    for (std::int64_t operation = 0; operation < 3; ++operation) {
      refill(1000 * operation);
      for (int rank = 0; rank < setting.ranks; ++rank) gpu::check(enqueue(rank));
      expect_right(1000 * operation);
    }
  }

  Setting setting_;
  WaitBound bound_{};
  Pattern pattern_{};
  std::vector<std::unique_ptr<Rank>> ranks_;
};

}  // namespace linkgain::kernels

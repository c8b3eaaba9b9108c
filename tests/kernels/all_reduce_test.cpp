// All ranks are on one device, each in a stream of its own: what they reach of each other is the
// same memory that links would lead to. Few blocks, so that those of all ranks run at once.
#include "kernels/all_reduce.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gpu/gpu_fixture.hpp"
#include "kernels/verification.hpp"
#include "linkgain/gpu/graph.hpp"
#include "linkgain/gpu/pinned_copy.hpp"

namespace linkgain::kernels {
namespace {

using gpu::check;
using gpu::DeviceBuffer;
using gpu::PinnedBuffer;
using gpu::Stream;

constexpr std::uint32_t kSeed = 77;
using enum AllReduceMethod;
constexpr AllReduceMethod kMethods[] = {low_latency, low_latency_wide, one_shot, two_shot,
                                        ring,        relayed_two_shot};
constexpr ElementType kTypes[] = {ElementType::float32, ElementType::float16,
                                  ElementType::bfloat16};

struct Setting {
  AllReduceMethod method = low_latency;
  ElementType type = ElementType::float32;
  std::int64_t elements = 1;
  int ranks = 2;
  int blocks = 1;
  bool in_place = false;
  bool host_scratch = false;
};

std::string describe(const Setting& setting) {
  return "method " + std::to_string(static_cast<int>(setting.method)) + ", type " +
         std::to_string(static_cast<int>(setting.type)) + ", " + std::to_string(setting.elements) +
         " elements, " + std::to_string(setting.ranks) + " ranks, " +
         std::to_string(setting.blocks) + " blocks" + (setting.in_place ? ", in place" : "") +
         (setting.host_scratch ? ", host scratch" : "");
}

/// The memory of one rank: input, output and what must not be touched after it.
class Rank {
 public:
  Rank(const Setting& setting, std::int64_t scratch_bytes)
      : bytes_(setting.elements * traits_of(setting.type).bytes),
        padded_((bytes_ + 15) / 16 * 16),
        in_place_(setting.in_place),
        data_(Bytes{2 * padded_ + kGuardBytes}) {
    void* zeroed = nullptr;
    if (setting.host_scratch) {
      host_scratch_.emplace(Bytes{scratch_bytes});
      zeroed = host_scratch_->data();
    } else {
      scratch_.emplace(Bytes{scratch_bytes});
      zeroed = scratch_->data();
    }
    check(cudaMemset(zeroed, 0, static_cast<std::size_t>(scratch_bytes)));
  }

  void* data() const { return data_.data(); }
  void* scratch() const { return host_scratch_ ? host_scratch_->data() : scratch_->data(); }
  void* output() const { return static_cast<char*>(data()) + offsets().output; }
  AllReduceOffsets offsets() const { return {0, in_place_ ? 0 : padded_}; }
  const Stream& stream() const { return stream_; }

  void refill(const Pattern& pattern, std::int64_t first_index, int rank) {
    check(cudaMemsetAsync(data(), kPoisonByte, static_cast<std::size_t>(data_.size().value),
                          stream_.get()));
    check(fill_input(data(), bytes_ / traits_of(pattern.type).bytes, first_index, pattern, rank,
                     stream_.get()));
  }

  CheckResult check_output(const Pattern& pattern, std::int64_t first_index) {
    auto* found = static_cast<CheckResult*>(result_.data());
    check(clear_result(found, stream_.get()));
    check(check_reduction(output(), bytes_ / traits_of(pattern.type).bytes, first_index, pattern,
                          found, stream_.get()));
    CheckResult result;
    check(cudaMemcpyAsync(&result, found, sizeof result, cudaMemcpyDeviceToHost, stream_.get()));
    stream_.synchronize();
    return result;
  }

  void write(const std::vector<float>& numbers) const {
    check(
        cudaMemcpy(data(), numbers.data(), numbers.size() * sizeof(float), cudaMemcpyHostToDevice));
  }

  /// When all that was enqueued is done.
  std::vector<float> read(std::int64_t elements) const {
    stream_.synchronize();
    std::vector<float> numbers(static_cast<std::size_t>(elements));
    check(cudaMemcpy(numbers.data(), output(), numbers.size() * sizeof(float),
                     cudaMemcpyDeviceToHost));
    return numbers;
  }

  bool guard_is_untouched() const {
    std::vector<std::uint8_t> guard(kGuardBytes);
    check(cudaMemcpy(guard.data(), static_cast<char*>(data()) + 2 * padded_, kGuardBytes,
                     cudaMemcpyDeviceToHost));
    return guard == std::vector<std::uint8_t>(kGuardBytes, kPoisonByte);
  }

 private:
  static constexpr std::int64_t kGuardBytes = 256;

  std::int64_t bytes_;
  std::int64_t padded_;
  bool in_place_;
  DeviceBuffer data_;
  std::optional<DeviceBuffer> scratch_;
  std::optional<PinnedBuffer> host_scratch_;
  DeviceBuffer result_{Bytes{sizeof(CheckResult)}};
  Stream stream_;
};

class AllReduceKernels : public gpu::GpuTest {
 protected:
  void set_up(const Setting& setting) {
    setting_ = setting;
    pattern_ = make_pattern(setting.type, ReductionKind::sum, setting.ranks, kSeed);
    ranks_.clear();
    const std::int64_t scratch = all_reduce_scratch(
        setting.method, setting.elements * traits_of(setting.type).bytes, setting.ranks);
    for (int rank = 0; rank < setting.ranks; ++rank) {
      ranks_.push_back(std::make_unique<Rank>(setting, scratch));
    }
    check(cudaDeviceSynchronize());
  }

  PeerRegions regions_of(int rank) const {
    PeerRegions regions{};
    regions.ranks = setting_.ranks;
    regions.rank = rank;
    const bool all = setting_.method == two_shot || setting_.method == ring;
    for (int peer = 0; peer < setting_.ranks; ++peer) {
      const Rank& other = *ranks_[static_cast<std::size_t>(peer)];
      regions.data[peer] = all || peer == rank ? other.data() : nullptr;
      regions.scratch[peer] = other.scratch();
    }
    return regions;
  }

  cudaError_t enqueue(int rank) const {
    const Rank& own = *ranks_[static_cast<std::size_t>(rank)];
    return all_reduce(setting_.method, regions_of(rank), own.offsets(), setting_.type,
                      setting_.elements, setting_.blocks, own.stream().get());
  }

  void refill(std::int64_t first_index) {
    for (int rank = 0; rank < setting_.ranks; ++rank) {
      ranks_[static_cast<std::size_t>(rank)]->refill(pattern_, first_index, rank);
    }
    check(cudaDeviceSynchronize());
  }

  void expect_right(std::int64_t first_index) {
    for (const auto& rank : ranks_) {
      const CheckResult result = rank->check_output(pattern_, first_index);
      ASSERT_EQ(result.wrong, 0u) << "element " << result.first_wrong_index << ": "
                                  << result.first_got << " for " << result.first_expected;
      ASSERT_TRUE(rank->guard_is_untouched());
    }
  }

  /// Several operations on the same scratch, the data new each time.
  void run(const Setting& setting) {
    SCOPED_TRACE(describe(setting));
    set_up(setting);
    for (std::int64_t operation = 0; operation < 3; ++operation) {
      refill(1000 * operation);
      for (int rank = 0; rank < setting.ranks; ++rank) check(enqueue(rank));
      expect_right(1000 * operation);
    }
  }

  Setting setting_;
  Pattern pattern_{};
  std::vector<std::unique_ptr<Rank>> ranks_;
};

TEST_F(AllReduceKernels, AddUpEveryElementForEveryNumberOfRanks) {
  for (const AllReduceMethod method : kMethods) {
    for (const ElementType type : kTypes) {
      if (method == ring && type != ElementType::float32) continue;
      for (int ranks = 2; ranks <= kMostRanks; ++ranks) {
        run({.method = method, .type = type, .elements = 40'003, .ranks = ranks, .blocks = 3});
      }
    }
  }
}

TEST_F(AllReduceKernels, AddUpAnyNumberOfElements) {
  for (const AllReduceMethod method : kMethods) {
    for (const std::int64_t elements : {1, 2, 3, 7, 8, 9, 511, 4099, 300'007}) {
      for (const int blocks : {1, 5, 16}) {
        run({.method = method,
             .type = method == ring ? ElementType::float32 : ElementType::bfloat16,
             .elements = elements,
             .ranks = 3,
             .blocks = blocks});
      }
    }
  }
}

TEST_F(AllReduceKernels, WorkInPlace) {
  for (const AllReduceMethod method : kMethods) {
    run({.method = method, .elements = 70'001, .ranks = 4, .blocks = 4, .in_place = true});
  }
}

TEST_F(AllReduceKernels, WorkThroughHostMemory) {
  for (const AllReduceMethod method : kMethods) {
    run({.method = method, .elements = 70'001, .ranks = 4, .blocks = 4, .host_scratch = true});
  }
}

TEST_F(AllReduceKernels, KeepStepOverManyLaunchesOfAGraph) {
  for (const AllReduceMethod method : kMethods) {
    set_up({.method = method, .elements = 5'003, .ranks = 2, .blocks = 2});
    refill(0);
    std::vector<gpu::GraphExecutable> graphs;
    for (int rank = 0; rank < 2; ++rank) {
      const Stream& stream = ranks_[static_cast<std::size_t>(rank)]->stream();
      graphs.push_back(gpu::capture(stream, [&] {
        for (int i = 0; i < 20; ++i) check(enqueue(rank));
      }));
    }
    for (int launch = 0; launch < 50; ++launch) {
      for (int rank = 0; rank < 2; ++rank) {
        const auto place = static_cast<std::size_t>(rank);
        graphs[place].launch(ranks_[place]->stream());
      }
    }
    expect_right(0);
  }
}

/// Each operation's output is the next one's input, so that one that takes what another has left
/// in scratch gives a wrong power.
TEST_F(AllReduceKernels, FollowEachOtherWithDataOfTheirOwn) {
  constexpr int kOperations = 8;
  constexpr int kRanks = 4;
  constexpr std::int64_t kElements = 30'011;
  std::vector<float> numbers(kElements);
  std::vector<float> expected(kElements);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>(i % 251);
    expected[i] = numbers[i] * static_cast<float>(1 << (2 * kOperations));  // exact: below 2^24
  }
  for (const AllReduceMethod method : kMethods) {
    for (const bool host_scratch : {false, true}) {
      const Setting setting{method, ElementType::float32, kElements, kRanks, 3, true, host_scratch};
      SCOPED_TRACE(describe(setting));
      set_up(setting);
      for (const auto& rank : ranks_) rank->write(numbers);
      for (int i = 0; i < kOperations; ++i) {
        for (int rank = 0; rank < kRanks; ++rank) check(enqueue(rank));
      }
      for (const auto& rank : ranks_) EXPECT_EQ(rank->read(kElements), expected);
    }
  }
}

TEST_F(AllReduceKernels, RefuseWhatTheyCannotDo) {
  set_up({});
  const auto attempt = [&](ElementType type, std::int64_t elements, int blocks, int ranks,
                           AllReduceMethod method = low_latency) {
    PeerRegions regions = regions_of(0);
    regions.ranks = ranks;
    return all_reduce(method, regions, {0, 16}, type, elements, blocks, ranks_[0]->stream().get());
  };
  EXPECT_EQ(attempt(ElementType::float64, 1, 1, 2), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(ElementType::int32, 1, 1, 2), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(ElementType::float32, 0, 1, 2), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(ElementType::float32, 1, 0, 2), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(ElementType::float32, 1, kMostAllReduceBlocks + 1, 2), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(ElementType::float32, 1, 1, 1), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(ElementType::float32, 1, 1, kMostRanks + 1), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(ElementType::float16, 1, 1, 2, ring), cudaErrorInvalidValue);
  // No device has room for so many at once.
  EXPECT_EQ(attempt(ElementType::float32, 1, kMostAllReduceBlocks, 2),
            cudaErrorCooperativeLaunchTooLarge);
}

}  // namespace
}  // namespace linkgain::kernels

#include "kernels/all_reduce/all_reduce.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernels/verify/verification.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/stream.hpp"
#include "worker/gpu/gpu_fixture.hpp"

namespace linkgain::kernels {
namespace {

using gpu::check;
using gpu::Stream;

// All ranks are on one device, each in a stream of its own: what they reach of each other is the
// same memory that links would lead to. Few blocks, so that those of all ranks run at once.

struct Setting {
  AllReduceMethod method = AllReduceMethod::ll;
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
    if (traits_of(setting.method).has(kSentinels)) {
      gpu::check(reset_all_reduce_scratch(setting.method, scratch(), scratch_bytes, nullptr));
    }
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

  /// Waits for all that was enqueued, and returns the output.
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

  /// Enqueues the operation on the first `elements`.
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

  /// Runs several operations on the same scratch, the data new each time.
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

using enum AllReduceMethod;
std::vector<AllReduceMethod> all_methods() {
  std::vector<AllReduceMethod> methods;
  for (const AllReduceTraits& each : kAllReduceMethods) {
    methods.push_back(each.method);
  }
  return methods;
}

constexpr ElementType kTypes[] = {ElementType::float32, ElementType::float16,
                                  ElementType::bfloat16};

TEST_F(AllReduceKernels, AddUpEveryElementForEveryNumberOfRanks) {
  for (const AllReduceMethod method : all_methods()) {
    for (const ElementType type : kTypes) {
      if (method == ring && type != ElementType::float32) continue;
      for (int ranks = 2; ranks <= kMostRanks; ++ranks) {
        run({.method = method, .type = type, .elements = 40'003, .ranks = ranks, .blocks = 3});
      }
    }
  }
}

TEST_F(AllReduceKernels, AddUpAnyNumberOfElements) {
  for (const AllReduceMethod method : all_methods()) {
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
  for (const AllReduceMethod method : all_methods()) {
    run({.method = method, .elements = 70'001, .ranks = 4, .blocks = 4, .in_place = true});
  }
}

TEST_F(AllReduceKernels, WorkInPlaceInHalfPrecision) {
  for (const AllReduceMethod method : all_methods()) {
    if (method == ring) continue;
    for (const ElementType type : {ElementType::float16, ElementType::bfloat16}) {
      run({.method = method,
           .type = type,
           .elements = 70'001,
           .ranks = 4,
           .blocks = 4,
           .in_place = true});
    }
  }
}

/// Gives so few blocks so much data that each takes several turns: of 16 chunks of 16 KiB of a
/// share for each of two parts.
TEST_F(AllReduceKernels, GoRoundTheRingMoreThanOnce) {
  for (int ranks = 2; ranks <= kMostRanks; ++ranks) {
    for (const int blocks : {1, 3}) {
      for (const bool in_place : {false, true}) {
        run({.method = ring,
             .elements = 500'003 * ranks,
             .ranks = ranks,
             .blocks = blocks,
             .in_place = in_place});
      }
    }
  }
}

TEST_F(AllReduceKernels, WorkThroughHostMemory) {
  for (const AllReduceMethod method : all_methods()) {
    run({.method = method, .elements = 70'001, .ranks = 4, .blocks = 4, .host_scratch = true});
  }
}

TEST_F(AllReduceKernels, KeepStepOverManyLaunchesOfAGraph) {
  for (const AllReduceMethod method : all_methods()) {
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

/// Feeds each operation's output to the next one, so that one that takes what another has left in
/// scratch gives a wrong power.
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
  for (const AllReduceMethod method : all_methods()) {
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

/// Takes sizes as those of a large operation's pieces, of which the last is smaller: whole vectors,
/// as the rest of one is anybody's.
TEST_F(AllReduceKernels, OfDifferentSizesShareScratch) {
  constexpr int kRanks = 4;
  constexpr std::int64_t kMost = 30'012;
  std::vector<std::int64_t> counts;
  for (int turn = 0; turn < 5; ++turn) {
    for (const std::int64_t count : {kMost, 4L, 15'000L, 30'000L, 12L, kMost, 8L, 28L}) {
      counts.push_back(count);
    }
  }
  std::vector<float> numbers(kMost);
  std::vector<float> expected(kMost);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = expected[i] = static_cast<float>(i % 251);
    for (const std::int64_t count : counts) {
      if (static_cast<std::int64_t>(i) < count) expected[i] *= kRanks;  // exact: a power of two
    }
  }
  for (const AllReduceMethod method : {two_shot, ring, staged_two_shot}) {
    for (const bool host_scratch : {false, true}) {
      const Setting setting{method, ElementType::float32, kMost, kRanks, 3, true, host_scratch};
      SCOPED_TRACE(describe(setting));
      set_up(setting);
      for (const auto& rank : ranks_) rank->write(numbers);
      for (const std::int64_t count : counts) {
        for (int rank = 0; rank < kRanks; ++rank) check(enqueue(rank, count));
      }
      for (const auto& rank : ranks_) {
        EXPECT_EQ(rank->read(kMost), expected);
        EXPECT_TRUE(rank->guards_are_untouched());
      }
    }
  }
}

/// Adds pairs of zeros of either sign, infinities, NaNs (sentinels among them), and numbers.
TEST_F(AllReduceKernels, AddUpWhatIsNoOrdinaryNumberAsAPlainSumDoes) {
  std::vector<float> values;
  for (const std::uint32_t bits :
       {0U, 0x80000000U, 0x7f800000U, 0xff800000U, 0xffffffffU, 0xfffffffeU, 0x7fffffffU,
        0x7fc00000U, 0x7f800001U, 0x00000001U, 0x80000001U, 0x3f800000U, 0xbf800000U}) {
    values.push_back(std::bit_cast<float>(bits));
  }
  std::vector<float> left;
  std::vector<float> right;
  for (const float a : values) {
    for (const float b : values) {
      left.push_back(a);
      right.push_back(b);
    }
  }
  const std::vector<float> neutral(left.size(), -0.0F);
  const auto elements = static_cast<std::int64_t>(left.size());
  const auto bits = [](const std::vector<float>& numbers) {
    std::vector<std::uint32_t> all;
    for (const float each : numbers) all.push_back(std::bit_cast<std::uint32_t>(each));
    return all;
  };
  for (const AllReduceMethod method : all_methods()) {
    for (const int ranks : {2, 3}) {
      const Setting setting{.method = method, .elements = elements, .ranks = ranks};
      SCOPED_TRACE(describe(setting));
      set_up(setting);
      ranks_[0]->write(left);
      ranks_[1]->write(right);
      if (ranks == 3) ranks_[2]->write(neutral);
      for (int rank = 0; rank < ranks; ++rank) check(enqueue(rank));
      const std::vector<float> sums = ranks_[0]->read(elements);
      for (std::size_t i = 0; i < left.size(); ++i) {
        const float expected = left[i] + right[i];
        const bool is_right =
            std::isnan(expected) ? std::isnan(sums[i]) : bits({sums[i]}) == bits({expected});
        EXPECT_TRUE(is_right) << left[i] << " + " << right[i] << " = " << sums[i];
      }
      for (const auto& rank : ranks_) EXPECT_EQ(bits(rank->read(elements)), bits(sums));
    }
  }
}

/// Expects the kernels to end without an error, and later ones soon.
TEST_F(AllReduceKernels, GiveUpWhereARankDoesNotCome) {
  const gpu::PinnedBuffer memory(Bytes{sizeof(WaitReport)});
  auto* const report = static_cast<WaitReport*>(memory.data());
  for (const AllReduceMethod method : all_methods()) {
    for (const bool host_scratch : {false, true}) {
      const Setting setting{method, ElementType::float32, 40'000, 2, 3, false, host_scratch};
      SCOPED_TRACE(describe(setting));
      *report = {};
      bound_ = {report, 200'000'000};
      set_up(setting);
      const auto start = std::chrono::steady_clock::now();
      for (int operation = 0; operation < 100; ++operation) check(enqueue(0));
      check(cudaDeviceSynchronize());
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
      EXPECT_GT(time.count(), 0.19);
      EXPECT_LT(time.count(), 1.5);
      const bool packets = traits_of(method).has(kFlagsInData);
      EXPECT_EQ(report->phase, packets ? WaitPhase::packet : WaitPhase::sent);
      EXPECT_EQ(report->peer, 1);
      EXPECT_LT(report->block, 3);
      EXPECT_GE(report->expected, 1U);
      EXPECT_EQ(report->seen, traits_of(method).has(kSentinels) ? 0xffffffffU : 0U);
    }
  }
}

/// Leaves out the last of three ranks: the others, who have each other's data, may not take sums
/// without its own for results.
TEST_F(AllReduceKernels, NobodyStoresSumsThatARankIsMissingFrom) {
  const gpu::PinnedBuffer memory(Bytes{2 * sizeof(WaitReport)});
  auto* const reports = static_cast<WaitReport*>(memory.data());
  for (const AllReduceMethod method : all_methods()) {
    const Setting setting{.method = method, .elements = 40'000, .ranks = 3};
    SCOPED_TRACE(describe(setting));
    set_up(setting);
    refill(0);
    const std::vector<float> before = ranks_[0]->read(setting.elements);
    for (const int rank : {0, 1}) {
      reports[rank] = {};
      bound_ = {reports + rank, 200'000'000};
      check(enqueue(rank));
    }
    check(cudaDeviceSynchronize());
    for (const int rank : {0, 1}) {
      EXPECT_NE(reports[rank].phase, WaitPhase::none);
      const std::vector<float> after =
          ranks_[static_cast<std::size_t>(rank)]->read(setting.elements);
      EXPECT_EQ(std::memcmp(after.data(), before.data(), after.size() * sizeof(float)), 0);
    }
  }
}

/// Sends the other rank's data by a method that has no signal for what these wait for last.
TEST_F(AllReduceKernels, GiveUpWhereARankDoesNotFinish) {
  const gpu::PinnedBuffer memory(Bytes{2 * sizeof(WaitReport)});
  auto* const reports = static_cast<WaitReport*>(memory.data());
  // One chunk, so that it is one signal; and more scratch than the other methods need.
  const Setting other{.method = ring, .elements = 64};
  run(other);  // loads its kernel, which may not happen while another one runs
  for (const AllReduceMethod method : {two_shot, staged_two_shot}) {
    Setting own = other;
    own.method = method;
    SCOPED_TRACE(describe(own));
    reports[0] = reports[1] = {};
    set_up(own);
    const auto start = std::chrono::steady_clock::now();
    setting_ = own;
    bound_ = {reports, 200'000'000};
    check(enqueue(0));
    setting_ = other;
    bound_ = {reports + 1, 200'000'000};
    check(enqueue(1));
    check(cudaDeviceSynchronize());
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    EXPECT_GT(time.count(), 0.19);
    EXPECT_LT(time.count(), 1.5);
    EXPECT_EQ(reports->phase, WaitPhase::finished);
    EXPECT_EQ(reports->peer, 1);
    EXPECT_EQ(reports->block, 0);
    EXPECT_EQ(reports->expected, 1U);
    EXPECT_EQ(reports->seen, 0U);
  }
}

/// Runs in a process of its own, which can do no more with its device then.
TEST_F(AllReduceKernels, EndWithAnErrorWhereNobodyAsksForAReport) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto wait_in_vain = [&] {
    bound_ = {nullptr, 200'000'000};
    set_up({.method = ll, .elements = 64});
    const auto start = std::chrono::steady_clock::now();
    check(enqueue(0));
    const cudaError_t status = cudaDeviceSynchronize();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    std::_Exit(status == cudaErrorLaunchFailure && time.count() > 0.19 && time.count() < 5.0 ? 0
                                                                                             : 1);
  };
  EXPECT_EXIT(wait_in_vain(), testing::ExitedWithCode(0), "");
}

TEST_F(AllReduceKernels, RefuseWhatTheyCannotDo) {
  set_up({});
  const auto attempt = [&](ElementType type, std::int64_t elements, int blocks, int ranks,
                           AllReduceMethod method = ll, std::int64_t most = 1) {
    PeerRegions regions = regions_of(0);
    regions.ranks = ranks;
    return all_reduce(method, regions, {0, 16}, type, elements, most, blocks,
                      ranks_[0]->stream().get());
  };
  EXPECT_EQ(attempt(ElementType::float64, 1, 1, 2), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(ElementType::int32, 1, 1, 2), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(ElementType::float32, 0, 1, 2), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(ElementType::float32, 1, 0, 2), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(ElementType::float32, 1, kMostBlocks + 1, 2), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(ElementType::float32, 1, 1, 1), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(ElementType::float32, 1, 1, kMostRanks + 1), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(ElementType::float16, 1, 1, 2, ring), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(ElementType::float32, 2, 1, 2, two_shot, 1), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(ElementType::float32, 1, 1, 2, ll, 100), cudaErrorInvalidValue);
  EXPECT_EQ(attempt(ElementType::float32, 1, 1, 2, sentinel, 100), cudaErrorInvalidValue);
  // Four to an item; an item's number and a grid must fit 32 bits.
  constexpr std::int64_t kTooMany = 4 * ((std::int64_t{1} << 32) - kMostBlocks * kAllReduceThreads);
  EXPECT_EQ(attempt(ElementType::float32, 1, 1, 2, two_shot, kTooMany), cudaErrorInvalidValue);
  // No device has room for so many at once.
  EXPECT_EQ(attempt(ElementType::float32, 1, kMostBlocks, 2), cudaErrorCooperativeLaunchTooLarge);
}

}  // namespace
}  // namespace linkgain::kernels

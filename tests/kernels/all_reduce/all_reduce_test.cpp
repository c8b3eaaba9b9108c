#include "kernels/all_reduce/all_reduce.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "kernels/all_reduce/all_reduce_fixture.hpp"
#include "linkgain/gpu/graph.hpp"

namespace linkgain::kernels {
namespace {

using gpu::check;
using gpu::Stream;

using enum AllReduceMethod;
std::vector<AllReduceMethod> all_methods() {
  std::vector<AllReduceMethod> methods;
  for (const AllReduceTraits& each : kAllReduceMethods) {
    if (is_built(each.method)) methods.push_back(each.method);
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

/// So much data for so few blocks that each takes several turns: of 16 chunks of 16 KiB of a share
/// for each of two parts.
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

/// As the pieces of a large operation, of which the last is smaller. Whole vectors, as the rest of
/// one is anybody's.
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
  for (const AllReduceMethod method : {one_shot, two_shot, ring, staged_two_shot}) {
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

/// The kernels end without an error, and later ones soon.
TEST_F(AllReduceKernels, GiveUpWhereARankDoesNotCome) {
  const gpu::PinnedBuffer memory(Bytes{sizeof(WaitReport)});
  auto* const report = static_cast<WaitReport*>(memory.data());
  for (const AllReduceMethod method : {ll, ll16, one_shot, two_shot, ring, staged_two_shot}) {
    for (const bool host_scratch : {false, true}) {
      const Setting setting{method, ElementType::float32, 40'000, 2, 3, false, host_scratch};
      SCOPED_TRACE(describe(setting));
      if (!is_built(method)) continue;
      *report = {};
      bound_ = {report, 200'000'000};
      set_up(setting);
      const auto start = std::chrono::steady_clock::now();
      for (int operation = 0; operation < 100; ++operation) check(enqueue(0));
      check(cudaDeviceSynchronize());
      const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
      EXPECT_GT(time.count(), 0.19);
      EXPECT_LT(time.count(), 1.5);
      const bool packets = method == ll || method == ll16;
      EXPECT_EQ(report->phase, packets ? WaitPhase::packet : WaitPhase::sent);
      EXPECT_EQ(report->peer, 1);
      EXPECT_LT(report->block, 3);
      EXPECT_GE(report->expected, 1U);
      EXPECT_EQ(report->seen, 0U);
    }
  }
}

/// The other rank's data come, by a method that has no signal for what these wait for last.
TEST_F(AllReduceKernels, GiveUpWhereARankDoesNotFinish) {
  const gpu::PinnedBuffer memory(Bytes{sizeof(WaitReport)});
  auto* const report = static_cast<WaitReport*>(memory.data());
  // One chunk, so that it is one signal; and more scratch than the other methods need.
  const Setting other{.method = one_shot, .elements = 64};
  run(other);  // loads its kernel, which may not happen while another one runs
  for (const AllReduceMethod method : {two_shot, staged_two_shot}) {
    Setting own = other;
    own.method = method;
    SCOPED_TRACE(describe(own));
    *report = {};
    bound_ = {report, 200'000'000};
    set_up(other);
    const auto start = std::chrono::steady_clock::now();
    setting_ = own;
    check(enqueue(0));
    setting_ = other;
    check(enqueue(1));
    check(cudaDeviceSynchronize());
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
    EXPECT_GT(time.count(), 0.19);
    EXPECT_LT(time.count(), 1.5);
    EXPECT_EQ(report->phase, WaitPhase::finished);
    EXPECT_EQ(report->peer, 1);
    EXPECT_EQ(report->block, 0);
    EXPECT_EQ(report->expected, 1U);
    EXPECT_EQ(report->seen, 0U);
  }
}

/// In a process of its own, which can do no more with its device then.
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
  EXPECT_EQ(attempt(ElementType::float32, 1, 1, 2, ll16, 100), cudaErrorInvalidValue);
  // Of four to an item; an item's number and a grid must fit 32 bits.
  constexpr std::int64_t kTooMany = 4 * ((std::int64_t{1} << 32) - kMostBlocks * kAllReduceThreads);
  EXPECT_EQ(attempt(ElementType::float32, 1, 1, 2, two_shot, kTooMany), cudaErrorInvalidValue);
  // No device has room for so many at once.
  EXPECT_EQ(attempt(ElementType::float32, 1, kMostBlocks, 2), cudaErrorCooperativeLaunchTooLarge);
}

}  // namespace
}  // namespace linkgain::kernels

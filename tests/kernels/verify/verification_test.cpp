#include "kernels/verify/verification.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <vector>

#include "all_patterns.hpp"
#include "kernels/verify/simulated_reduction.hpp"
#include "linkgain/gpu/stream.hpp"
#include "simulated_reduction.hpp"
#include "worker/gpu/gpu_fixture.hpp"

namespace linkgain::kernels {
namespace {

using gpu::check;
using gpu::DeviceBuffer;
using test::download;
using test::upload;

using Memory = std::vector<std::uint8_t>;

/// Not a multiple of any pack, and more than the threads of one block walk in one step.
constexpr std::int64_t kCount = 1287;
constexpr std::int64_t kFirstIndex = (std::int64_t{1} << 32) - 100;

Bytes bytes_of(const Pattern& pattern, std::int64_t count) {
  return {count * traits_of(pattern.type).bytes};
}

std::uint64_t encode(ElementType type, double value) {
  return traits_of(type).is_integer ? encode_integer(type, static_cast<std::int64_t>(value))
                                    : encode_float(type, value);
}

/// Returns a right library's result: for averages that round, that of adding up rank after rank.
std::uint64_t right_bits(const Pattern& pattern, std::int64_t index) {
  if (!is_floating(pattern)) {
    return encode_integer(pattern.type, expected_integer(pattern, index));
  }
  if (pattern.relative_error == 0.0) {
    return encode_float(pattern.type, expected_real<double>(pattern, index));
  }
  const auto results =
      simulate_floats(pattern.type, pattern.reduction, inputs_at<double>(pattern, index),
                      AverageWay::multiply_first);
  return encode_float(pattern.type, results.front());
}

Memory right_output(const Pattern& pattern, std::int64_t count, std::int64_t first_index) {
  Memory memory;
  for (std::int64_t k = 0; k < count; ++k) {
    append(memory, pattern.type, right_bits(pattern, first_index + k));
  }
  return memory;
}

Memory input_of(const Pattern& pattern, int rank, std::int64_t count, std::int64_t first_index) {
  Memory memory;
  for (std::int64_t k = 0; k < count; ++k) {
    append(memory, pattern.type,
           encode(pattern.type, input_value(pattern.seed, rank, first_index + k, pattern.range)));
  }
  return memory;
}

/// Spoils `right`: in the lowest bit if results are exact, else far away.
std::uint64_t corrupted(const Pattern& pattern, std::uint64_t right) {
  if (pattern.relative_error == 0.0) return right ^ 1;
  return encode_float(pattern.type, -decode_float(pattern.type, right));
}

class Verification : public test::GpuTest {
 protected:
  void SetUp() override {
    test::GpuTest::SetUp();
    if (IsSkipped()) return;
    stream_.emplace();
    result_.emplace(Bytes{sizeof(CheckResult)});
    gpu::check(clear_result(device_result(), stream_->get()));
  }

  void TearDown() override {
    stream_.reset();
    result_.reset();
    test::GpuTest::TearDown();
  }

  CheckResult* device_result() const { return static_cast<CheckResult*>(result_->data()); }

  /// Returns what the checks since the last call found.
  CheckResult take_result() {
    CheckResult result;
    const Memory memory = test::download(*result_, *stream_);
    std::memcpy(static_cast<void*>(&result), memory.data(), sizeof(result));
    gpu::check(clear_result(device_result(), stream_->get()));
    return result;
  }

  CheckResult check_memory(const Pattern& pattern, const Memory& memory,
                           std::int64_t first_index = kFirstIndex) {
    const gpu::DeviceBuffer buffer(Bytes{static_cast<std::int64_t>(memory.size())});
    test::upload(buffer, memory, *stream_);
    const auto count = static_cast<std::int64_t>(memory.size()) / traits_of(pattern.type).bytes;
    gpu::check(check_reduction(buffer.data(), count, first_index, pattern, device_result(),
                               stream_->get()));
    return take_result();
  }

  /// Corrupts one element and requires that it alone is found.
  void expect_found(const Pattern& pattern, const Memory& right, std::size_t position) {
    Memory memory = right;
    const std::uint64_t before = element_at(right, pattern.type, position);
    const std::uint64_t after = corrupted(pattern, before);
    set_element(memory, pattern.type, position, after);
    const CheckResult result = check_memory(pattern, memory);
    ASSERT_EQ(result.wrong, 1u) << "position " << position;
    ASSERT_EQ(result.first_wrong_index, static_cast<unsigned long long>(kFirstIndex) + position);
    ASSERT_EQ(result.first_got, decode(pattern.type, after));
    ASSERT_NEAR(result.first_expected, decode(pattern.type, before),
                std::abs(decode(pattern.type, before)) * pattern.relative_error * 2.0);
    ASSERT_GE(result.largest_error, std::abs(result.first_got - result.first_expected));
  }

  std::optional<gpu::Stream> stream_;
  std::optional<gpu::DeviceBuffer> result_;
};

TEST_F(Verification, a_cleared_result_says_nothing) {
  const CheckResult result = take_result();
  EXPECT_EQ(result.wrong, 0u);
  EXPECT_EQ(result.first_wrong_index, kNoIndex);
  EXPECT_EQ(result.largest_error, 0.0);
}

TEST_F(Verification, fills_what_the_host_computes) {
  for_each_pattern(1, 4, [&](const Pattern& pattern) {
    const int rank = pattern.ranks - 1;
    const DeviceBuffer buffer(bytes_of(pattern, kCount));
    check(fill_input(buffer.data(), kCount, kFirstIndex, pattern, rank, stream_->get()));
    ASSERT_EQ(download(buffer, *stream_), input_of(pattern, rank, kCount, kFirstIndex));
  });
}

TEST_F(Verification, fills_no_more_than_its_part) {
  for (const ElementType type : kAllTypes) {
    const Pattern pattern = make_pattern(type, ReductionKind::max, 2, kSeed);
    SCOPED_TRACE(describe(pattern));
    const auto bytes = static_cast<std::size_t>(traits_of(type).bytes);
    // Starts that no pack is aligned to, and counts around a pack's length.
    for (std::size_t start = 0; start < 5; ++start) {
      for (std::int64_t count = 0; count < 11; ++count) {
        const DeviceBuffer buffer(bytes_of(pattern, 16));
        check(cudaMemsetAsync(buffer.data(), kPoisonByte, 16 * bytes, stream_->get()));
        auto* part = static_cast<std::uint8_t*>(buffer.data()) + start * bytes;
        check(fill_input(part, count, 7, pattern, 1, stream_->get()));
        Memory expected(16 * bytes, kPoisonByte);
        const Memory filled = input_of(pattern, 1, count, 7);
        std::copy(filled.begin(), filled.end(),
                  expected.begin() + static_cast<std::ptrdiff_t>(start * bytes));
        ASSERT_EQ(download(buffer, *stream_), expected) << start << ", " << count;
      }
    }
  }
}

TEST_F(Verification, accepts_every_right_reduction) {
  for_each_pattern(1, kMostRanks, [&](const Pattern& pattern) {
    const CheckResult result = check_memory(pattern, right_output(pattern, kCount, kFirstIndex));
    ASSERT_EQ(result.wrong, 0u) << result.first_got << " for " << result.first_expected;
    ASSERT_EQ(result.first_wrong_index, kNoIndex);
    ASSERT_TRUE(result.largest_error == 0.0 || pattern.relative_error > 0.0);
  });
}

TEST_F(Verification, finds_one_corrupted_element_anywhere) {
  for_each_pattern(1, kMostRanks, [&](const Pattern& pattern) {
    const Memory right = right_output(pattern, kCount, kFirstIndex);
    for (const std::int64_t position : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1023},
                                        kCount - 4, kCount - 2, kCount - 1}) {
      expect_found(pattern, right, static_cast<std::size_t>(position));
      if (HasFatalFailure()) return;
    }
  });
}

TEST_F(Verification, finds_a_corrupted_element_in_unaligned_memory) {
  for (const ElementType type : kAllTypes) {
    const Pattern pattern = make_pattern(type, ReductionKind::sum, 3, kSeed);
    SCOPED_TRACE(describe(pattern));
    const auto bytes = static_cast<std::size_t>(traits_of(type).bytes);
    for (std::size_t position = 0; position < 12; ++position) {
      // The element before the buffer is wrong, and must not be looked at.
      Memory memory(bytes, kPoisonByte);
      const Memory right = right_output(pattern, 12, 0);
      memory.insert(memory.end(), right.begin(), right.end());
      set_element(memory, type, position + 1, element_at(memory, type, position + 1) ^ 1);
      const DeviceBuffer buffer(Bytes{static_cast<std::int64_t>(memory.size())});
      upload(buffer, memory, *stream_);
      check(check_reduction(static_cast<std::uint8_t*>(buffer.data()) + bytes, 12, 0, pattern,
                            device_result(), stream_->get()));
      const CheckResult result = take_result();
      ASSERT_EQ(result.wrong, 1u);
      ASSERT_EQ(result.first_wrong_index, position);
    }
  }
}

TEST_F(Verification, the_upper_half_of_an_integer_counts) {
  for (const ElementType type : {ElementType::int64, ElementType::uint64}) {
    const Pattern pattern = make_pattern(type, ReductionKind::sum, 2, kSeed);
    Memory memory = right_output(pattern, kCount, 0);
    set_element(memory, type, 77, element_at(memory, type, 77) ^ (std::uint64_t{1} << 63));
    const CheckResult result = check_memory(pattern, memory, 0);
    EXPECT_EQ(result.wrong, 1u);
    EXPECT_EQ(result.first_wrong_index, 77u);
    EXPECT_EQ(result.largest_error, std::ldexp(1.0, 63));
  }
}

TEST_F(Verification, poison_is_wrong_everywhere) {
  for_each_pattern(1, kMostRanks, [&](const Pattern& pattern) {
    const Memory poison(static_cast<std::size_t>(bytes_of(pattern, kCount).value), kPoisonByte);
    const CheckResult result = check_memory(pattern, poison);
    ASSERT_EQ(result.wrong, static_cast<unsigned long long>(kCount));
    ASSERT_EQ(result.first_wrong_index, static_cast<unsigned long long>(kFirstIndex));
    ASSERT_EQ(result.first_got, decode(pattern.type, element_at(poison, pattern.type, 0)));
  });
}

TEST_F(Verification, nan_and_infinity_are_wrong) {
  for_each_pattern(2, 3, [&](const Pattern& pattern) {
    if (!is_floating(pattern)) return;
    Memory memory = right_output(pattern, kCount, kFirstIndex);
    set_element(memory, pattern.type, 1030, format_of(pattern.type).nan_bits);
    const bool has_infinity = pattern.type != ElementType::float8e4m3;
    if (has_infinity) set_element(memory, pattern.type, 1100, infinity_bits(pattern.type));
    const CheckResult result = check_memory(pattern, memory);
    ASSERT_EQ(result.wrong, has_infinity ? 2u : 1u);
    ASSERT_EQ(result.first_wrong_index, static_cast<unsigned long long>(kFirstIndex) + 1030);
    ASSERT_TRUE(std::isnan(result.first_got));
    ASSERT_EQ(result.largest_error, std::numeric_limits<double>::infinity());
  });
}

TEST_F(Verification, the_smallest_of_many_wrong_indices_is_kept) {
  const Pattern pattern = make_pattern(ElementType::float32, ReductionKind::sum, 2, kSeed);
  constexpr std::int64_t kMany = 3'000'001;
  const DeviceBuffer buffer(bytes_of(pattern, kMany));
  check(cudaMemsetAsync(buffer.data(), kPoisonByte, static_cast<std::size_t>(buffer.size().value),
                        stream_->get()));
  Memory head = right_output(pattern, 1001, 0);
  upload(buffer, head, *stream_);
  check(check_reduction(buffer.data(), kMany, 0, pattern, device_result(), stream_->get()));
  const CheckResult result = take_result();
  EXPECT_EQ(result.wrong, static_cast<unsigned long long>(kMany - 1001));
  EXPECT_EQ(result.first_wrong_index, 1001u);
  EXPECT_EQ(result.first_expected, expected_real<double>(pattern, 1001));
  EXPECT_EQ(result.first_got, decode_float(ElementType::float32, 0xa5a5a5a5));
}

TEST_F(Verification, checks_add_up) {
  const Pattern pattern = make_pattern(ElementType::int32, ReductionKind::sum, 2, kSeed);
  Memory memory = right_output(pattern, 100, 0);
  set_element(memory, pattern.type, 90, 12345678);
  set_element(memory, pattern.type, 20, 87654321);
  const DeviceBuffer buffer(bytes_of(pattern, 100));
  upload(buffer, memory, *stream_);
  // The second half first.
  auto* half = static_cast<std::uint8_t*>(buffer.data()) + 200;
  check(check_reduction(half, 50, 50, pattern, device_result(), stream_->get()));
  check(check_reduction(buffer.data(), 50, 0, pattern, device_result(), stream_->get()));
  const CheckResult result = take_result();
  EXPECT_EQ(result.wrong, 2u);
  EXPECT_EQ(result.first_wrong_index, 20u);
  EXPECT_EQ(result.first_got, 87654321.0);
  EXPECT_EQ(result.first_expected, static_cast<double>(expected_integer(pattern, 20)));
}

TEST_F(Verification, checks_another_ranks_input) {
  for (const ElementType type : kAllTypes) {
    const Pattern pattern = make_pattern(type, ReductionKind::max, 4, kSeed);
    SCOPED_TRACE(describe(pattern));
    const DeviceBuffer buffer(bytes_of(pattern, kCount));
    check(fill_input(buffer.data(), kCount, kFirstIndex, pattern, 2, stream_->get()));
    check(check_input(buffer.data(), kCount, kFirstIndex, pattern, 2, device_result(),
                      stream_->get()));
    EXPECT_EQ(take_result().wrong, 0u);
    for (const int other : {0, 1, 3}) {
      check(check_input(buffer.data(), kCount, kFirstIndex, pattern, other, device_result(),
                        stream_->get()));
      // One in eleven of uint8's values, the fewest, agrees by chance.
      EXPECT_GT(take_result().wrong, static_cast<unsigned long long>(kCount) * 3 / 4);
    }
    // Shifted by one element: as wrong as another rank's.
    check(check_input(buffer.data(), kCount, kFirstIndex + 1, pattern, 2, device_result(),
                      stream_->get()));
    EXPECT_GT(take_result().wrong, static_cast<unsigned long long>(kCount) * 3 / 4);
  }
}

TEST_F(Verification, may_be_captured) {
  const Pattern pattern = make_pattern(ElementType::bfloat16, ReductionKind::sum, 1, kSeed);
  const DeviceBuffer buffer(bytes_of(pattern, kCount));
  const gpu::GraphExecutable graph = gpu::capture(*stream_, [&] {
    check(clear_result(device_result(), stream_->get()));
    check(fill_input(buffer.data(), kCount, 0, pattern, 0, stream_->get()));
    check(check_reduction(buffer.data(), kCount, 0, pattern, device_result(), stream_->get()));
  });
  check(cudaMemsetAsync(result_->data(), 0, sizeof(CheckResult), stream_->get()));
  graph.launch(*stream_);
  const CheckResult result = take_result();
  EXPECT_EQ(result.wrong, 0u);
  EXPECT_EQ(result.first_wrong_index, kNoIndex);
}

TEST_F(Verification, refuses_contradicting_arguments) {
  const Pattern pattern = make_pattern(ElementType::int8, ReductionKind::sum, 2, kSeed);
  const DeviceBuffer buffer(Bytes{64});
  void* const memory = buffer.data();
  const cudaStream_t stream = stream_->get();
  Pattern no_ranks = pattern;
  no_ranks.ranks = 0;
  EXPECT_EQ(fill_input(nullptr, 1, 0, pattern, 0, stream), cudaErrorInvalidValue);
  EXPECT_EQ(fill_input(memory, -1, 0, pattern, 0, stream), cudaErrorInvalidValue);
  EXPECT_EQ(fill_input(memory, 1, -1, pattern, 0, stream), cudaErrorInvalidValue);
  EXPECT_EQ(fill_input(memory, 1, 0, pattern, 2, stream), cudaErrorInvalidValue);
  EXPECT_EQ(fill_input(memory, 1, 0, no_ranks, 0, stream), cudaErrorInvalidValue);
  EXPECT_EQ(check_input(memory, 1, 0, pattern, -1, device_result(), stream), cudaErrorInvalidValue);
  EXPECT_EQ(check_reduction(memory, 1, 0, pattern, nullptr, stream), cudaErrorInvalidValue);
  EXPECT_EQ(check_reduction(nullptr, 0, 0, pattern, device_result(), stream), cudaSuccess);
  EXPECT_EQ(take_result().wrong, 0u);
}

}  // namespace
}  // namespace linkgain::kernels

#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "all_patterns.hpp"
#include "kernels/verify/simulated_reduction.hpp"
#include "kernels/verify/verification.hpp"
#include "simulated_reduction.hpp"
#include "worker/gpu/gpu_fixture.hpp"

namespace linkgain::kernels {

using Memory = std::vector<std::uint8_t>;

/// Not a multiple of any pack, and more than the threads of one block walk in one step.
inline constexpr std::int64_t kCount = 1287;
inline constexpr std::int64_t kFirstIndex = (std::int64_t{1} << 32) - 100;

inline Bytes bytes_of(const Pattern& pattern, std::int64_t count) {
  return {count * traits_of(pattern.type).bytes};
}

inline std::uint64_t encode(ElementType type, double value) {
  return traits_of(type).is_integer ? encode_integer(type, static_cast<std::int64_t>(value))
                                    : encode_float(type, value);
}

/// What a right library leaves: for averages that round, what adding up rank after rank gives.
inline std::uint64_t right_bits(const Pattern& pattern, std::int64_t index) {
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

inline Memory right_output(const Pattern& pattern, std::int64_t count, std::int64_t first_index) {
  Memory memory;
  for (std::int64_t k = 0; k < count; ++k) {
    append(memory, pattern.type, right_bits(pattern, first_index + k));
  }
  return memory;
}

inline Memory input_of(const Pattern& pattern, int rank, std::int64_t count,
                       std::int64_t first_index) {
  Memory memory;
  for (std::int64_t k = 0; k < count; ++k) {
    append(memory, pattern.type,
           encode(pattern.type, input_value(pattern.seed, rank, first_index + k, pattern.range)));
  }
  return memory;
}

/// Something wrong in place of `right`: the lowest bit where results are exact, else far away.
inline std::uint64_t corrupted(const Pattern& pattern, std::uint64_t right) {
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

  /// What the checks since the last call found.
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

}  // namespace linkgain::kernels

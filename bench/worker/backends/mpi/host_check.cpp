#include "mpi/host_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace linkgain {
namespace {

/// Calls `work` with a value of the C++ type of `type`.
template <typename Work>
auto with_type(kernels::ElementType type, Work work) {
  switch (type) {
    case kernels::ElementType::float32:
      return work(float{});
    case kernels::ElementType::float64:
      return work(double{});
    case kernels::ElementType::int8:
      return work(std::int8_t{});
    case kernels::ElementType::uint8:
      return work(std::uint8_t{});
    case kernels::ElementType::int32:
      return work(std::int32_t{});
    case kernels::ElementType::uint32:
      return work(std::uint32_t{});
    case kernels::ElementType::int64:
      return work(std::int64_t{});
    case kernels::ElementType::uint64:
      return work(std::uint64_t{});
    case kernels::ElementType::float16:
    case kernels::ElementType::bfloat16:
    case kernels::ElementType::float8e4m3:
    case kernels::ElementType::float8e5m2:
      throw std::logic_error("the CPU has no such type");
  }
  throw std::logic_error("unhandled element type");
}

/// Checks a part; `expected` is called with the place in the part.
template <typename T, typename Expected>
Verification compare(std::span<const std::byte> output, const ExpectedPart& part,
                     double relative_error, Expected expected) {
  Verification result;
  result.checked = part.count;
  for (std::int64_t i = 0; i < part.count; ++i) {
    T got{};
    const auto at = static_cast<std::size_t>(part.begin + i) * sizeof(T);
    std::memcpy(&got, output.subspan(at, sizeof(T)).data(), sizeof(T));
    const T want = expected(i);
    bool right = got == want;
    if constexpr (std::is_floating_point_v<T>) {
      right = kernels::matches(got, want, static_cast<T>(relative_error));
      result.bound = std::max(result.bound, relative_error * std::abs(static_cast<double>(want)));
    }
    const double error = std::abs(static_cast<double>(got) - static_cast<double>(want));
    if (!(error <= result.largest_error)) result.largest_error = error;
    if (right) continue;
    if (result.wrong++ == 0) {
      result.first_wrong = fmt::format("element {}: {} instead of {}", part.begin + i,
                                       static_cast<double>(got), static_cast<double>(want));
    }
  }
  return result;
}

template <typename T>
T expected_value(const kernels::Pattern& pattern, int source, std::int64_t index) {
  if (source != kReduced) {
    return static_cast<T>(kernels::input_value(pattern.seed, source, index, pattern.range));
  }
  if constexpr (std::is_floating_point_v<T>) {
    return kernels::expected_real<T>(pattern, index);
  } else {
    return static_cast<T>(kernels::expected_integer(pattern, index));
  }
}

}  // namespace

void fill_input(std::span<std::byte> bytes, const kernels::Pattern& pattern, int rank) {
  with_type(pattern.type, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
      const auto value = static_cast<T>(
          kernels::input_value(pattern.seed, rank, static_cast<std::int64_t>(i), pattern.range));
      std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
  });
}

Verification check_part(std::span<const std::byte> output, const kernels::Pattern& pattern,
                        const ExpectedPart& part) {
  return with_type(pattern.type, [&](auto zero) {
    using T = decltype(zero);
    const double relative_error = part.source == kReduced ? pattern.relative_error : 0.0;
    return compare<T>(output, part, relative_error, [&](std::int64_t i) {
      return expected_value<T>(pattern, part.source, part.first_index + i);
    });
  });
}

Verification check_parts(std::span<const std::byte> output, const kernels::Pattern& pattern,
                         const std::vector<ExpectedPart>& parts) {
  Verification total;
  for (const ExpectedPart& part : parts) {
    add(total, check_part(output, pattern, part));
  }
  return total;
}

}  // namespace linkgain

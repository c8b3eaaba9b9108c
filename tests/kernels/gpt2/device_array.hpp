#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/common/element.hpp"
#include "kernels/random/model_random.hpp"
#include "support/bfloat16.hpp"
#include "worker/gpu/gpu_fixture.hpp"

// Arrays for tests of the training kernels: doubles on the host, a narrower type on the device.
namespace linkgain::kernels {

using Values = std::vector<double>;
using Bits = std::vector<std::uint8_t>;

/// Returns what an element of the type holds of a value.
inline double rounded_to(ElementType type, double value) {
  if (type == ElementType::float32) return static_cast<double>(static_cast<float>(value));
  return static_cast<double>(test::from_bfloat16(test::to_bfloat16(static_cast<float>(value))));
}

/// Returns half the distance of neighbouring numbers, relative to them.
inline double rounding_error(ElementType type) {
  return type == ElementType::float32 ? 0x1p-24 : 0x1p-8;
}

/// Draws numbers in -scale … scale that the type has, others for each seed.
inline Values noise(ElementType type, std::uint64_t seed, std::int64_t count, double scale = 1.0) {
  Values values(static_cast<std::size_t>(count));
  std::uint64_t state = mix(seed + 1);
  for (double& value : values) {
    value = rounded_to(type, scale * (static_cast<double>(mix(++state) >> 11) * 0x1p-52 - 1.0));
  }
  return values;
}

/// Elements of float32, bfloat16 or int32 in device memory, between guards that must stay as they
/// are. `lead` moves them that many elements beyond a multiple of 256 bytes.
class DeviceArray {
 public:
  DeviceArray(ElementType type, std::int64_t count, std::int64_t lead = 0)
      : type_(type),
        bytes_(static_cast<std::size_t>(traits_of(type).bytes)),
        begin_(kGuard + static_cast<std::size_t>(lead) * bytes_),
        size_(static_cast<std::size_t>(count) * bytes_),
        memory_(Bytes{static_cast<std::int64_t>(begin_ + size_ + kGuard)}) {
    gpu::check(cudaMemset(memory_.data(), kFiller, begin_ + size_ + kGuard));
    gpu::check(cudaDeviceSynchronize());
  }

  DeviceArray(ElementType type, const Values& values, std::int64_t lead = 0)
      : DeviceArray(type, static_cast<std::int64_t>(values.size()), lead) {
    write(values);
  }

  void* data() const { return static_cast<char*>(memory_.data()) + begin_; }
  float* floats() const { return static_cast<float*>(data()); }
  std::int32_t* integers() const { return static_cast<std::int32_t*>(data()); }

  void write(const Values& values) const {
    Bits bits(size_);
    for (std::size_t i = 0; i < values.size(); ++i) encode(values[i], bits.data() + i * bytes_);
    write_bits(bits);
  }

  void write_bits(const Bits& bits) const {
    gpu::check(cudaMemcpy(data(), bits.data(), bits.size(), cudaMemcpyHostToDevice));
    gpu::check(cudaDeviceSynchronize());
  }

  /// Waits for the device, and writes what is no number in any type of floating point.
  void poison() const {
    gpu::check(cudaDeviceSynchronize());
    write_bits(Bits(size_, 0xff));
  }

  /// Waits for the device, checks the guards and returns the bits.
  Bits bits() const {
    Bits all(begin_ + size_ + kGuard);
    gpu::check(cudaDeviceSynchronize());
    gpu::check(cudaMemcpy(all.data(), memory_.data(), all.size(), cudaMemcpyDeviceToHost));
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin_);
    const auto end = first + static_cast<std::ptrdiff_t>(size_);
    const auto is_filler = [](std::uint8_t byte) { return byte == kFiller; };
    EXPECT_TRUE(std::all_of(all.begin(), first, is_filler)) << "written before the array";
    EXPECT_TRUE(std::all_of(end, all.end(), is_filler)) << "written beyond the array";
    return {first, end};
  }

  Values values() const {
    const Bits all = bits();
    Values values(size_ / bytes_);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = decode(all.data() + i * bytes_);
    return values;
  }

 private:
  static constexpr std::size_t kGuard = 256;
  static constexpr std::uint8_t kFiller = 0x5a;

  template <typename Number>
  static void store(Number number, std::uint8_t* to) {
    std::memcpy(to, &number, sizeof number);
  }

  void encode(double value, std::uint8_t* to) const {
    if (type_ == ElementType::bfloat16) {
      store(test::to_bfloat16(static_cast<float>(value)), to);
    } else if (type_ == ElementType::int32) {
      store(static_cast<std::int32_t>(value), to);
    } else {
      store(static_cast<float>(value), to);
    }
  }

  double decode(const std::uint8_t* from) const {
    std::uint32_t word = 0;
    std::memcpy(&word, from, bytes_);
    if (type_ == ElementType::int32) return std::bit_cast<std::int32_t>(word);
    return static_cast<double>(type_ == ElementType::bfloat16
                                   ? test::from_bfloat16(static_cast<std::uint16_t>(word))
                                   : std::bit_cast<float>(word));
  }

  ElementType type_;
  std::size_t bytes_;
  std::size_t begin_;
  std::size_t size_;
  gpu::DeviceBuffer memory_;
};

/// Makes scratch of `bytes` with other contents than a kernel may rely on.
inline DeviceArray scratch_of(std::int64_t bytes) {
  return {ElementType::float32, (bytes + 3) / 4};
}

/// Expects |actual - expected| <= relative * |expected| + absolute everywhere.
inline void expect_close(const Values& actual, const Values& expected, double relative,
                         double absolute) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double bound = relative * std::abs(expected[i]) + absolute;
    ASSERT_LE(std::abs(actual[i] - expected[i]), bound)
        << "element " << i << ": " << actual[i] << ", expected " << expected[i];
  }
}

/// Sums, and what their errors are in proportion to.
class CheckedSums {
 public:
  explicit CheckedSums(std::int64_t count)
      : sums_(static_cast<std::size_t>(count)), sizes_(sums_.size()), terms_(sums_.size()) {}

  void add(std::int64_t i, double term) {
    const auto place = static_cast<std::size_t>(i);
    sums_[place] += term;
    sizes_[place] += std::abs(term);
    terms_[place] += 1.0;
  }

  /// Allows `term_error` for each term and `relative` of the sum of all sizes.
  void expect(const Values& actual, double relative, double term_error) const {
    ASSERT_EQ(actual.size(), sums_.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      ASSERT_LE(std::abs(actual[i] - sums_[i]), relative * sizes_[i] + term_error * terms_[i])
          << "sum " << i << ": " << actual[i] << ", expected " << sums_[i];
    }
  }

 private:
  Values sums_;
  Values sizes_;
  Values terms_;
};

inline constexpr ElementType kActivationTypes[] = {ElementType::float32, ElementType::bfloat16};

}  // namespace linkgain::kernels

#include "kernels/gpt2/weights.hpp"

#include <bit>

#include "device_array.hpp"

namespace linkgain::kernels {
namespace {

using enum ElementType;

constexpr std::int64_t kCounts[] = {0, 1, 2, 3, 4, 5, 7, 1023, 1'000'003};

class ParameterMemory : public test::GpuTest {};

TEST_F(ParameterMemory, is_copied_as_bfloat16) {
  const gpu::Stream stream;
  for (const std::int64_t count : kCounts) {
    for (const auto& [lead, copy_lead] :
         {std::pair<std::int64_t, std::int64_t>{0, 0}, {1, 1}, {3, 3}, {1, 2}}) {
      Values values = noise(float32, 6, count, 3.0);
      const DeviceArray memory(float32, values, lead);
      const DeviceArray copy(bfloat16, count, copy_lead);
      gpu::check(copy_as_bfloat16(memory.floats(), copy.data(), count, stream.get()));
      for (double& value : values) value = rounded_to(bfloat16, value);
      EXPECT_EQ(copy.values(), values);
    }
  }
}

TEST_F(ParameterMemory, has_the_hosts_hash) {
  const gpu::Stream stream;
  constexpr std::int64_t kFirst = (std::int64_t{1} << 33) + 5;
  constexpr std::uint64_t kBefore = 0xFEDCBA9876543210U;
  for (const std::int64_t count : kCounts) {
    for (const std::int64_t lead : {0, 1, 2, 3}) {
      const Values values = noise(float32, 6, count);
      const DeviceArray memory(float32, values, lead);
      const DeviceArray hash(float32, 2);
      hash.write_bits({0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE});
      gpu::check(add_hash(memory.floats(), kFirst, count, static_cast<std::uint64_t*>(hash.data()),
                          stream.get()));
      std::uint64_t expected = kBefore;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(values[i]));
        expected += hash_contribution(kFirst + static_cast<std::int64_t>(i), bits);
      }
      std::uint64_t actual = 0;
      std::memcpy(&actual, hash.bits().data(), sizeof actual);
      EXPECT_EQ(actual, expected) << count << " elements";
    }
  }
}

/// Compares every bit: models on hosts and devices begin alike.
TEST_F(ParameterMemory, begins_with_the_hosts_weights) {
  const gpu::Stream stream;
  constexpr std::int64_t kCount = 300'001;
  for (const WeightDistribution& distribution :
       {WeightDistribution{0.0, 0.02}, WeightDistribution{0.5, 1.0},
        WeightDistribution{1.0, 0.0}}) {
    for (const std::uint64_t seed : {std::uint64_t{1}, std::uint64_t{0xABCDEF0123456789}}) {
      const DeviceArray memory(float32, kCount, 1);
      gpu::check(
          fill_initial_weights(memory.floats(), kCount, seed, 147, distribution, stream.get()));
      Bits expected(static_cast<std::size_t>(kCount) * sizeof(float));
      for (std::int64_t i = 0; i < kCount; ++i) {
        const float weight = initial_weight(seed, 147, i, distribution);
        std::memcpy(expected.data() + static_cast<std::size_t>(i) * sizeof weight, &weight,
                    sizeof weight);
      }
      EXPECT_EQ(memory.bits(), expected);
    }
  }
}

TEST_F(ParameterMemory, refuses_negative_counts) {
  const DeviceArray memory(float32, 16);
  EXPECT_EQ(copy_as_bfloat16(memory.floats(), memory.data(), -1, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(add_hash(memory.floats(), 0, -1, static_cast<std::uint64_t*>(memory.data()), nullptr),
            cudaErrorInvalidValue);
  EXPECT_EQ(fill_initial_weights(memory.floats(), -1, 0, 0, {0.0, 1.0}, nullptr),
            cudaErrorInvalidValue);
}

}  // namespace
}  // namespace linkgain::kernels

#include "linkgain/gpu/memory_work.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu_fixture.hpp"

namespace linkgain::gpu {
namespace {

using MemoryWorkTest = GpuTest;

TEST_F(MemoryWorkTest, fills_and_copies_in_the_order_of_the_stream) {
  const Stream stream;
  const DeviceBuffer first({64});
  const DeviceBuffer second({64});
  enqueue_fill(first.data(), 7, {64}, stream);
  enqueue_fill(first.data(), 9, {16}, stream);
  enqueue_copy(second.data(), first.data(), {64}, stream);
  std::vector<std::uint8_t> expected(64, 7);
  std::fill_n(expected.begin(), 16, 9);
  EXPECT_EQ(download(second, stream), expected);
  const std::vector<std::uint8_t> host(32, 3);
  enqueue_copy(second.data(), host.data(), {32}, stream);
  std::fill_n(expected.begin(), 32, 3);
  EXPECT_EQ(download(second, stream), expected);
}

// Other processes may give memory back meanwhile, but hardly twice.
TEST_F(MemoryWorkTest, sees_what_is_taken_of_memory) {
  const auto seen = [] {
    const std::int64_t before = memory_in_use().value;
    const DeviceBuffer buffer({256 << 20});
    return memory_in_use().value - before;
  };
  EXPECT_GE(std::max(seen(), seen()), 128 << 20);
}

}  // namespace
}  // namespace linkgain::gpu

#include "linkgain/gpu/buffer.hpp"

#include <numeric>
#include <utility>

#include "gpu_fixture.hpp"

namespace linkgain::gpu {
namespace {

using BufferTest = GpuTest;

TEST_F(BufferTest, holds_what_was_copied) {
  std::vector<std::uint8_t> memory(1000);
  std::iota(memory.begin(), memory.end(), std::uint8_t{0});
  const Stream stream;
  const DeviceBuffer buffer(Bytes{1000});
  EXPECT_EQ(buffer.size(), Bytes{1000});
  upload(buffer, memory, stream);
  EXPECT_EQ(download(buffer, stream), memory);
}

TEST_F(BufferTest, moves_with_its_memory) {
  DeviceBuffer first(Bytes{16});
  void* const memory = first.data();
  const DeviceBuffer second(std::move(first));
  EXPECT_EQ(second.data(), memory);
  EXPECT_EQ(second.size(), Bytes{16});
}

TEST_F(BufferTest, may_be_empty) {
  const DeviceBuffer buffer(Bytes{0});
  EXPECT_EQ(buffer.data(), nullptr);
}

TEST_F(BufferTest, says_so_when_memory_is_short) {
  try {
    const DeviceBuffer buffer(Bytes{std::int64_t{1} << 60});
    FAIL() << "no exception";
  } catch (const CudaError& error) {
    EXPECT_EQ(error.code(), cudaErrorMemoryAllocation);
    EXPECT_FALSE(error.advice().empty());
  }
  // The next check of a launch must not report it again.
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  EXPECT_NO_THROW(DeviceBuffer(Bytes{1024}));
}

TEST_F(BufferTest, gives_its_memory_back) {
  std::size_t unused = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&unused, &total));
  // More than there is in all, were any of it kept.
  const Bytes piece{static_cast<std::int64_t>(unused / 4)};
  for (int k = 0; k < 8; ++k) EXPECT_NO_THROW(DeviceBuffer{piece});
}

}  // namespace
}  // namespace linkgain::gpu

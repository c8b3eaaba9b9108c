#include "linkgain/gpu/pinned_copy.hpp"

#include <cstring>
#include <utility>
#include <vector>

#include "gpu_fixture.hpp"

namespace linkgain::gpu {
namespace {

using PinnedCopyTest = GpuTest;

constexpr std::size_t kSize = 1 << 20;

TEST_F(PinnedCopyTest, carries_data_there_and_back) {
  PinnedCopy copy(Bytes{kSize});
  std::memset(copy.host(), 0x5a, kSize);
  copy.copy_to_device();
  copy.stream().synchronize();
  std::memset(copy.host(), 0, kSize);
  copy.copy_from_device();
  copy.stream().synchronize();
  const std::vector<unsigned char> expected(kSize, 0x5a);
  EXPECT_EQ(std::memcmp(copy.host(), expected.data(), kSize), 0);
}

TEST_F(PinnedCopyTest, host_memory_is_page_locked) {
  const PinnedBuffer buffer(Bytes{4096});
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, buffer.data()));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(buffer.size(), Bytes{4096});
}

TEST_F(PinnedCopyTest, moves_with_its_buffers) {
  PinnedCopy first(Bytes{4096});
  void* const host = first.host();
  PinnedCopy second(std::move(first));
  EXPECT_EQ(second.host(), host);
  second.copy_to_device();
  second.stream().synchronize();
}

TEST_F(PinnedCopyTest, says_so_when_memory_is_short) {
  EXPECT_THROW(PinnedBuffer(Bytes{std::int64_t{1} << 60}), CudaError);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

}  // namespace
}  // namespace linkgain::gpu

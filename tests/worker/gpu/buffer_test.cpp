#include "linkgain/gpu/buffer.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gpu_fixture.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/shared_memory.hpp"
#include "support/memory_in_use.hpp"

namespace linkgain::test {
namespace {

using namespace gpu;
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

// Tries twice: other processes may give memory back meanwhile, but hardly both times.
TEST_F(MemoryWorkTest, sees_what_is_taken_of_memory) {
  const auto seen = [] {
    const std::int64_t before = test::memory_in_use().value;
    const DeviceBuffer buffer({256 << 20});
    return test::memory_in_use().value - before;
  };
  EXPECT_GE(std::max(seen(), seen()), 128 << 20);
}

using PinnedCopyTest = GpuTest;

constexpr std::size_t kSize = 1 << 20;

TEST_F(PinnedCopyTest, carries_data_both_ways) {
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

using namespace gpu;

constexpr Bytes kSharedSize{1 << 20};

class SharedHostMemoryTest : public GpuTest {
 protected:
  /// Counts this process's files in /dev/shm.
  static int names() {
    const std::string own = "linkgain-" + std::to_string(::getpid()) + "-";
    int count = 0;
    for (const auto& file : std::filesystem::directory_iterator("/dev/shm")) {
      if (file.path().filename().string().starts_with(own)) ++count;
    }
    return count;
  }
};

TEST_F(SharedHostMemoryTest, BeginsWithZeros) {
  for (const auto make : {SharedHostMemory::make, SharedHostMemory::make_named}) {
    const SharedHostMemory memory = make(kSharedSize);
    const auto* bytes = static_cast<const std::uint8_t*>(memory.data());
    for (std::int64_t i = 0; i < kSharedSize.value; ++i) ASSERT_EQ(bytes[i], 0);
  }
}

TEST_F(SharedHostMemoryTest, WhoeverOpensItSeesWhatTheDeviceWrites) {
  for (const auto make : {SharedHostMemory::make, SharedHostMemory::make_named}) {
    const SharedHostMemory made = make(kSharedSize);
    SharedHostMemory opened = SharedHostMemory::open(made.address(), kSharedSize);
    const DeviceBuffer source(kSharedSize);
    check(cudaMemset(source.data(), 7, static_cast<std::size_t>(kSharedSize.value)));
    check(cudaMemcpy(made.data(), source.data(), static_cast<std::size_t>(kSharedSize.value),
                     cudaMemcpyDeviceToHost));
    check(cudaDeviceSynchronize());
    const SharedHostMemory moved = std::move(opened);
    EXPECT_EQ(static_cast<const std::uint8_t*>(moved.data())[kSharedSize.value - 1], 7);
    cudaPointerAttributes attributes{};
    check(cudaPointerGetAttributes(&attributes, moved.data()));
    EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
    EXPECT_EQ(attributes.devicePointer, moved.data()) << "kernels use the process's own address";
  }
}

TEST_F(SharedHostMemoryTest, LivesOnWithdrawnAndNobodyOpensIt) {
  for (const auto make : {SharedHostMemory::make, SharedHostMemory::make_named}) {
    SharedHostMemory memory = make(kSharedSize);
    const std::string address = memory.address();
    memory.withdraw();
    EXPECT_EQ(memory.address(), "");
    EXPECT_THROW(SharedHostMemory::open(address, kSharedSize), MachineError);
    std::memset(memory.data(), 1, static_cast<std::size_t>(kSharedSize.value));
  }
}

TEST_F(SharedHostMemoryTest, TakesAPlaceInTheFolderOnlyWithAName) {
  const SharedHostMemory unnamed = SharedHostMemory::make(kSharedSize);
  EXPECT_EQ(names(), 0);
  {
    const SharedHostMemory named = SharedHostMemory::make_named(kSharedSize);
    EXPECT_EQ(names(), 1);
  }
  EXPECT_EQ(names(), 0);
}

TEST_F(SharedHostMemoryTest, AnotherFileAtTheAddressIsRefused) {
  const SharedHostMemory first = SharedHostMemory::make(kSharedSize);
  const std::string address = first.address();
  const std::string other = address.substr(0, address.find(' ')) + " linkgain-1-1";
  EXPECT_THROW(SharedHostMemory::open(other, kSharedSize), MachineError);
}

TEST_F(SharedHostMemoryTest, IsRefusedWhereThereIsNoRoom) {
  constexpr Bytes kTooMuch{std::int64_t{1} << 50};
  for (const auto make : {SharedHostMemory::make, SharedHostMemory::make_named}) {
    EXPECT_THROW(make(kTooMuch), MachineError);
  }
  EXPECT_EQ(names(), 0) << "nothing is left of it";
}

}  // namespace
}  // namespace linkgain::test

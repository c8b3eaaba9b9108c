#include "linkgain/gpu/shared_memory.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "gpu_fixture.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain::gpu {
namespace {

constexpr Bytes kSize{1 << 20};

class SharedHostMemoryTest : public GpuTest {
 protected:
  void TearDown() override {
    remove_shared_memory(name_);
    GpuTest::TearDown();
  }

  const std::string name_ = "/linkgain-test-" + std::to_string(::getpid());
};

TEST_F(SharedHostMemoryTest, BeginsWithZeros) {
  const SharedHostMemory memory = SharedHostMemory::make(name_, kSize);
  const auto* bytes = static_cast<const std::uint8_t*>(memory.data());
  for (std::int64_t i = 0; i < kSize.value; ++i) ASSERT_EQ(bytes[i], 0);
}

TEST_F(SharedHostMemoryTest, WhoeverOpensItSeesWhatTheDeviceWrites) {
  const SharedHostMemory made = SharedHostMemory::make(name_, kSize);
  SharedHostMemory opened = SharedHostMemory::open(name_, kSize);
  const DeviceBuffer source(kSize);
  check(cudaMemset(source.data(), 7, static_cast<std::size_t>(kSize.value)));
  check(cudaMemcpy(made.data(), source.data(), static_cast<std::size_t>(kSize.value),
                   cudaMemcpyDeviceToHost));
  check(cudaDeviceSynchronize());
  const SharedHostMemory moved = std::move(opened);
  EXPECT_EQ(static_cast<const std::uint8_t*>(moved.data())[kSize.value - 1], 7);
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, moved.data()));
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(attributes.devicePointer, moved.data()) << "kernels use the process's own address";
}

TEST_F(SharedHostMemoryTest, LivesOnWithoutItsName) {
  const SharedHostMemory memory = SharedHostMemory::make(name_, kSize);
  remove_shared_memory(name_);
  EXPECT_THROW(SharedHostMemory::open(name_, kSize), MachineError);
  std::memset(memory.data(), 1, static_cast<std::size_t>(kSize.value));
}

TEST_F(SharedHostMemoryTest, IsRefusedWhereItIsThereAlreadyOrThereIsNoRoom) {
  const SharedHostMemory memory = SharedHostMemory::make(name_, kSize);
  EXPECT_THROW(SharedHostMemory::make(name_, kSize), MachineError);
  const std::string other = name_ + "-large";
  EXPECT_THROW(SharedHostMemory::make(other, Bytes{std::int64_t{1} << 50}), MachineError);
  EXPECT_THROW(SharedHostMemory::open(other, kSize), MachineError) << "nothing is left of it";
}

}  // namespace
}  // namespace linkgain::gpu

#include "linkgain/gpu/shared_memory.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "gpu_fixture.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain::test {
namespace {

using namespace gpu;

constexpr Bytes kSize{1 << 20};

class SharedHostMemoryTest : public GpuTest {
 protected:
  /// How many files of this process are in /dev/shm.
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
    const SharedHostMemory memory = make(kSize);
    const auto* bytes = static_cast<const std::uint8_t*>(memory.data());
    for (std::int64_t i = 0; i < kSize.value; ++i) ASSERT_EQ(bytes[i], 0);
  }
}

TEST_F(SharedHostMemoryTest, WhoeverOpensItSeesWhatTheDeviceWrites) {
  for (const auto make : {SharedHostMemory::make, SharedHostMemory::make_named}) {
    const SharedHostMemory made = make(kSize);
    SharedHostMemory opened = SharedHostMemory::open(made.address(), kSize);
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
}

TEST_F(SharedHostMemoryTest, LivesOnWithdrawnAndNobodyOpensIt) {
  for (const auto make : {SharedHostMemory::make, SharedHostMemory::make_named}) {
    SharedHostMemory memory = make(kSize);
    const std::string address = memory.address();
    memory.withdraw();
    EXPECT_EQ(memory.address(), "");
    EXPECT_THROW(SharedHostMemory::open(address, kSize), MachineError);
    std::memset(memory.data(), 1, static_cast<std::size_t>(kSize.value));
  }
}

TEST_F(SharedHostMemoryTest, TakesAPlaceInTheFolderOnlyWithAName) {
  const SharedHostMemory unnamed = SharedHostMemory::make(kSize);
  EXPECT_EQ(names(), 0);
  {
    const SharedHostMemory named = SharedHostMemory::make_named(kSize);
    EXPECT_EQ(names(), 1);
  }
  EXPECT_EQ(names(), 0);
}

TEST_F(SharedHostMemoryTest, AnotherFileAtTheAddressIsRefused) {
  const SharedHostMemory first = SharedHostMemory::make(kSize);
  const std::string address = first.address();
  const std::string other = address.substr(0, address.find(' ')) + " linkgain-1-1";
  EXPECT_THROW(SharedHostMemory::open(other, kSize), MachineError);
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

#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/device.hpp"
#include "linkgain/gpu/errors.hpp"
#include "linkgain/gpu/stream.hpp"

namespace linkgain::test {

/// Skips each test where there is no GPU; else every test has to leave the device usable.
class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    if (gpu::device_count(&reason) == 0) GTEST_SKIP() << "no GPU: " << reason;
  }

  void TearDown() override {
    if (IsSkipped()) return;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
};

/// Copies to the start of `buffer`, in the order of `stream`, and waits.
inline void upload(const gpu::DeviceBuffer& buffer, const std::vector<std::uint8_t>& memory,
                   const gpu::Stream& stream) {
  gpu::check(cudaMemcpyAsync(buffer.data(), memory.data(), memory.size(), cudaMemcpyHostToDevice,
                             stream.get()));
  stream.synchronize();
}

/// Returns all of `buffer` as it is after the work in `stream`.
inline std::vector<std::uint8_t> download(const gpu::DeviceBuffer& buffer,
                                          const gpu::Stream& stream) {
  std::vector<std::uint8_t> memory(static_cast<std::size_t>(buffer.size().value));
  gpu::check(cudaMemcpyAsync(memory.data(), buffer.data(), memory.size(), cudaMemcpyDeviceToHost,
                             stream.get()));
  stream.synchronize();
  return memory;
}

}  // namespace linkgain::test

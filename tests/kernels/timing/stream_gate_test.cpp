#include "kernels/timing/stream_gate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>

#include "kernels/timing/stream_gate.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/stream.hpp"
#include "worker/gpu/gpu_fixture.hpp"

namespace linkgain::kernels {
namespace {

using gpu::check;

class Hold : public test::GpuTest {
 protected:
  void SetUp() override {
    test::GpuTest::SetUp();
    if (!IsSkipped()) memory_.emplace(Bytes{sizeof(std::uint32_t)});
  }

  std::uint32_t* gate() const { return static_cast<std::uint32_t*>(memory_->data()); }
  void set(std::uint32_t value) const { std::atomic_ref<std::uint32_t>(*gate()).store(value); }

  /// Device time of a hold whose gate nobody touches.
  Seconds time_of(std::uint32_t value, double microseconds) const {
    const gpu::Stream stream;
    gpu::Event start;
    gpu::Event stop;
    start.record(stream);
    check(block_stream(stream.get(), gate(), value, microseconds));
    stop.record(stream);
    stop.synchronize();
    return elapsed(start, stop);
  }

  std::optional<gpu::PinnedBuffer> memory_;
};

TEST_F(Hold, EndsWhenTheGateOpens) {
  set(0);
  const gpu::Stream stream;
  check(block_stream(stream.get(), gate(), 1, 90e3));
  const auto start = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(stream.done());
  set(1);
  stream.synchronize();
  // Some slack for other users of the machine.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(60));
}

TEST_F(Hold, EndsByItselfIfTheGateStaysShut) {
  set(6);
  time_of(7, 100.0);
  const Seconds time = time_of(7, 5e3);
  EXPECT_GE(time.value, 4.9e-3);
  EXPECT_LE(time.value, 8.5e-3);
}

TEST_F(Hold, AnOpenGateDoesNotHold) {
  set(7);
  time_of(7, 50e3);
  EXPECT_LE(time_of(7, 50e3).value, 5e-3);
  EXPECT_LE(time_of(6, 50e3).value, 5e-3);
}

/// Counters wrap: 2 is three past 2^32 - 1.
TEST_F(Hold, CountsPastTheLargestNumber) {
  set(2);
  time_of(1, 100.0);
  EXPECT_LE(time_of(0xFFFFFFFF, 50e3).value, 5e-3);
  set(0xFFFFFFFF);
  EXPECT_GE(time_of(2, 5e3).value, 4.9e-3);
}

TEST_F(Hold, RefusesAbsurdRequests) {
  const gpu::Stream stream;
  EXPECT_EQ(block_stream(stream.get(), nullptr, 1, 10.0), cudaErrorInvalidValue);
  EXPECT_EQ(block_stream(stream.get(), gate(), 1, -1.0), cudaErrorInvalidValue);
  EXPECT_EQ(block_stream(stream.get(), gate(), 1, kLongestBlock * 1.01), cudaErrorInvalidValue);
  EXPECT_TRUE(stream.done());
}

}  // namespace
}  // namespace linkgain::kernels

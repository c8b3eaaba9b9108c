#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>

#include "kernels/timing/stream_gate.hpp"
#include "kernels/timing/warm_up.hpp"
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

  /// Returns the device time of a hold whose gate nobody touches.
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

/// Lets counters wrap: 2 is three past 2^32 - 1.
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

using gpu::check;

class Busy : public test::GpuTest {
 protected:
  /// Returns the device time of one launch.
  static Seconds time_of(double microseconds, int blocks) {
    const gpu::Stream stream;
    gpu::Event start;
    gpu::Event stop;
    start.record(stream);
    check(warm_up(stream.get(), microseconds, blocks));
    stop.record(stream);
    stop.synchronize();
    return elapsed(start, stop);
  }
};

TEST_F(Busy, lasts_about_as_long_as_asked_for) {
  time_of(1000.0, 0);
  for (const double milliseconds : {2.0, 20.0}) {
    const Seconds time = time_of(milliseconds * 1e3, 0);
    EXPECT_GE(time.value, milliseconds * 1e-3 * 0.98);
    // Some slack for other users of the GPU.
    EXPECT_LE(time.value, milliseconds * 1e-3 * 1.5 + 1e-3);
  }
}

TEST_F(Busy, one_block_lasts_as_long) {
  time_of(1000.0, 1);
  const Seconds time = time_of(5000.0, 1);
  EXPECT_GE(time.value, 4.9e-3);
  EXPECT_LE(time.value, 8.5e-3);
}

TEST_F(Busy, no_time_is_short) {
  time_of(0.0, 0);
  EXPECT_LE(time_of(0.0, 0).value, 1e-3);
}

TEST_F(Busy, does_not_make_the_host_wait) {
  const gpu::Stream stream;
  check(warm_up(stream.get(), 20e3, 0));
  EXPECT_FALSE(stream.done());
  stream.synchronize();
  EXPECT_TRUE(stream.done());
}

TEST_F(Busy, refuses_absurd_requests) {
  const gpu::Stream stream;
  EXPECT_EQ(warm_up(stream.get(), -1.0, 0), cudaErrorInvalidValue);
  EXPECT_EQ(warm_up(stream.get(), kLongestWarmUp * 1.01, 0), cudaErrorInvalidValue);
  EXPECT_EQ(warm_up(stream.get(), 10.0, -1), cudaErrorInvalidValue);
  EXPECT_TRUE(stream.done());
}

}  // namespace
}  // namespace linkgain::kernels

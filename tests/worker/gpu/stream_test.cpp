#include "linkgain/gpu/stream.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "gpu_fixture.hpp"
#include "kernels/timing/warm_up.hpp"
#include "linkgain/base/errors.hpp"
#include "linkgain/gpu/waits.hpp"
#include "support/golden.hpp"
#include "worker/gpu/gpu_fixture.hpp"

namespace linkgain::test {
namespace {

using namespace gpu;
using StreamTest = GpuTest;

TEST_F(StreamTest, is_done_once_its_work_is) {
  const Stream stream;
  EXPECT_TRUE(stream.done());
  check(kernels::warm_up(stream.get(), 20e3));
  EXPECT_FALSE(stream.done());
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  stream.synchronize();
  EXPECT_TRUE(stream.done());
}

TEST_F(StreamTest, does_not_wait_for_the_default_stream) {
  const Stream stream;
  check(kernels::warm_up(nullptr, 50e3, 1));
  check(kernels::warm_up(stream.get(), 10.0, 1));
  stream.synchronize();
  EXPECT_EQ(cudaStreamQuery(nullptr), cudaErrorNotReady);
  cudaGetLastError();
}

TEST_F(StreamTest, has_the_priority_asked_for) {
  int lowest = 0;
  int highest = 0;
  check(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  const auto priority = [](const Stream& stream) {
    int value = 1;  // which none has
    check(cudaStreamGetPriority(stream.get(), &value));
    return value;
  };
  EXPECT_EQ(priority(Stream()), 0);
  EXPECT_EQ(priority(Stream(StreamPriority::usual)), 0);
  EXPECT_EQ(priority(Stream(StreamPriority::highest)), highest);
}

TEST_F(StreamTest, moves_with_its_work) {
  Stream first;
  const cudaStream_t handle = first.get();
  check(kernels::warm_up(first.get(), 1e3));
  const Stream second(std::move(first));
  EXPECT_EQ(second.get(), handle);
  second.synchronize();
  EXPECT_TRUE(second.done());
}

TEST_F(StreamTest, may_go_while_it_is_busy) {
  {
    const Stream stream;
    check(kernels::warm_up(stream.get(), 5e3));
  }
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

using EventTest = GpuTest;

TEST_F(EventTest, measures_device_time) {
  const Stream stream;
  Event start;
  Event stop;
  check(kernels::warm_up(stream.get(), 1e3));
  start.record(stream);
  check(kernels::warm_up(stream.get(), 10e3));
  stop.record(stream);
  stop.synchronize();
  EXPECT_GE(elapsed(start, stop).value, 9.8e-3);
  EXPECT_LE(elapsed(start, stop).value, 20e-3);
}

TEST_F(EventTest, is_done_once_the_work_before_it_is) {
  const Stream stream;
  Event event;
  EXPECT_TRUE(event.done());
  check(kernels::warm_up(stream.get(), 20e3));
  event.record(stream);
  EXPECT_FALSE(event.done());
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  event.synchronize();
  EXPECT_TRUE(event.done());
}

TEST_F(EventTest, holds_another_stream_until_the_work_before_it_is_done) {
  const Stream first;
  const Stream second;
  Event event(TimeStamps::left_out);
  check(kernels::warm_up(first.get(), 50e3, 1));
  event.record(first);
  event.hold(second);
  event.record(second);  // which is not what the second one waits for
  EXPECT_FALSE(second.done());
  EXPECT_FALSE(first.done()) << "the host has waited";
  second.synchronize();
  EXPECT_TRUE(first.done());
}

TEST_F(EventTest, without_time_stamps_has_no_time) {
  const Stream stream;
  const Event start(TimeStamps::left_out);
  Event stop(TimeStamps::left_out);
  stop.record(stream);
  stop.synchronize();
  EXPECT_THROW(elapsed(start, stop), CudaError);
}

TEST_F(EventTest, moves) {
  const Stream stream;
  Event first;
  const cudaEvent_t handle = first.get();
  first.record(stream);
  const Event second(std::move(first));
  EXPECT_EQ(second.get(), handle);
  second.synchronize();
}

TEST_F(EventTest, elapsed_refuses_what_was_never_recorded) {
  const Event start;
  const Event stop;
  EXPECT_THROW(elapsed(start, stop), CudaError);
}

constexpr auto kSlowHost = std::chrono::microseconds(500);

class StreamGateTest : public GpuTest {
 protected:
  /// Returns the device time from a start to the end of work of 50 us that a slow host enqueues
  /// half a millisecond later.
  static Seconds time_of(const std::function<void(const gpu::Stream&)>& before,
                         const std::function<void()>& after) {
    const gpu::Stream stream;
    gpu::Event start;
    gpu::Event stop;
    before(stream);
    start.record(stream);
    std::this_thread::sleep_for(kSlowHost);
    gpu::check(kernels::warm_up(stream.get(), 50.0, 1));
    after();
    stop.record(stream);
    stop.synchronize();
    return gpu::elapsed(start, stop);
  }
};

TEST_F(StreamGateTest, KeepsTheHostsTimeOutOfTheFirstOperations) {
  const auto nothing = [] {};
  time_of([](const gpu::Stream&) {}, nothing);
  EXPECT_GE(time_of([](const gpu::Stream&) {}, nothing).value, 450e-6);
  gpu::StreamGate gate;
  Seconds best{1.0};
  for (int sample = 0; sample < 5; ++sample) {
    const Seconds time = time_of([&](const gpu::Stream& stream) { gate.block_stream(stream); },
                                 [&] { gate.unblock(); });
    EXPECT_GE(time.value, 48e-6);
    best = std::min(best, time);
  }
  // The best: a busy host may sleep for longer than the gate holds.
  EXPECT_LE(best.value, 400e-6);
}

TEST_F(StreamGateTest, IsNotShutByTheNextBlock) {
  gpu::StreamGate gate;
  const gpu::Stream stream;
  for (int i = 0; i < 20; ++i) {
    gate.block_stream(stream);
    gate.unblock();
  }
  const auto start = std::chrono::steady_clock::now();
  stream.synchronize();
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(10));
}

/// Bounds the time that whoever enqueues may have to wait for the stream.
TEST_F(StreamGateTest, DoesNotHoldForLong) {
  gpu::StreamGate gate;
  const gpu::Stream stream;
  gate.block_stream(stream);  // which loads the kernel
  stream.synchronize();
  const auto start = std::chrono::steady_clock::now();
  gate.block_stream(stream);
  stream.synchronize();
  const auto time = std::chrono::steady_clock::now() - start;
  EXPECT_GT(time, std::chrono::microseconds(900));
  EXPECT_LT(time, std::chrono::milliseconds(20));
}

using namespace gpu;

class DeviceWaitsTest : public GpuTest {};

TEST_F(DeviceWaitsTest, SayWhomAKernelWaitedFor) {
  const DeviceWaits waits(0, Seconds{10.0});
  EXPECT_EQ(waits.bound().nanoseconds, 8'000'000'000U);
  EXPECT_EQ(waits.failure(), std::nullopt);
  EXPECT_NO_THROW(waits.require_none());
  *waits.bound().report = {kernels::WaitPhase::packet, 1, 3, 18, 17};
  ASSERT_TRUE(waits.failure());
  EXPECT_THROW(waits.require_none(), MachineError);
  const std::string of_a_rank = *waits.failure();
  *waits.bound().report = {kernels::WaitPhase::turn, 0, 3, 18, 17};
  test::expect_golden(of_a_rank + "\n" + *waits.failure() + "\n", "failed_wait.txt");
}

TEST_F(DeviceWaitsTest, HaveTheLongestLimitWithoutOne) {
  for (const double without : {0.0, 1e7, 1e300}) {
    EXPECT_EQ(DeviceWaits(0, Seconds{without}).bound().nanoseconds, kernels::kLongestWait);
  }
}

}  // namespace
}  // namespace linkgain::test

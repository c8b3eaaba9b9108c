#include "linkgain/gpu/stream.hpp"

#include <utility>

#include "gpu_fixture.hpp"
#include "kernels/timing/warm_up.hpp"

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

}  // namespace
}  // namespace linkgain::test

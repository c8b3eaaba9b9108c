#include "linkgain/gpu/event.hpp"

#include <utility>

#include "gpu_fixture.hpp"
#include "kernels/timing/warm_up.hpp"

namespace linkgain::gpu {
namespace {

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
}  // namespace linkgain::gpu

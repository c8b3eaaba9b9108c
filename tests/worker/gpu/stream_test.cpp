#include "linkgain/gpu/stream.hpp"

#include <utility>

#include "gpu_fixture.hpp"
#include "kernels/timing/warm_up.hpp"

namespace linkgain::gpu {
namespace {

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

}  // namespace
}  // namespace linkgain::gpu

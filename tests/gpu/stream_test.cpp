#include "linkgain/gpu/stream.hpp"

#include <array>
#include <utility>

#include "gpu/gpu_fixture.hpp"
#include "kernels/busy.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/memory_work.hpp"
#include "linkgain/gpu/side_stream.hpp"

namespace linkgain::gpu {
namespace {

using StreamTest = GpuTest;

TEST_F(StreamTest, is_done_once_its_work_is) {
  const Stream stream;
  EXPECT_TRUE(stream.done());
  check(kernels::launch_busy(stream.get(), 20e3));
  EXPECT_FALSE(stream.done());
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  stream.synchronize();
  EXPECT_TRUE(stream.done());
}

TEST_F(StreamTest, does_not_wait_for_the_default_stream) {
  const Stream stream;
  check(kernels::launch_busy(nullptr, 50e3, 1));
  check(kernels::launch_busy(stream.get(), 10.0, 1));
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
  check(kernels::launch_busy(first.get(), 1e3));
  const Stream second(std::move(first));
  EXPECT_EQ(second.get(), handle);
  second.synchronize();
  EXPECT_TRUE(second.done());
}

TEST_F(StreamTest, may_go_while_it_is_busy) {
  {
    const Stream stream;
    check(kernels::launch_busy(stream.get(), 5e3));
  }
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

// Each writes a byte after long work, which the other has to find.
TEST_F(StreamTest, beside_another_waits_at_forks_and_is_waited_for_at_joins) {
  constexpr Bytes kOne{1};
  const Stream main;
  SideStream side;
  const DeviceBuffer memory({3});
  char* const bytes = static_cast<char*>(memory.data());
  enqueue_fill(bytes, 0, {3}, main);
  for (const unsigned char first : std::array<unsigned char, 3>{1, 2, 3}) {
    const auto second = static_cast<unsigned char>(first + 16);
    check(kernels::launch_busy(main.get(), 2e3, 1));
    enqueue_fill(bytes, first, kOne, main);
    side.fork(main);
    enqueue_copy(bytes + 1, bytes, kOne, side.stream());
    check(kernels::launch_busy(side.stream().get(), 2e3, 1));
    enqueue_fill(bytes, second, kOne, side.stream());
    side.join(main);
    enqueue_copy(bytes + 2, bytes, kOne, main);
    std::array<unsigned char, 3> read{};
    enqueue_copy(read.data(), bytes, {3}, main);
    main.synchronize();
    EXPECT_EQ(read, (std::array{second, first, second}));
  }
}

TEST_F(StreamTest, beside_another_runs_while_that_does) {
  const Stream main;
  SideStream side;
  side.fork(main);
  check(kernels::launch_busy(main.get(), 50e3, 1));
  check(kernels::launch_busy(side.stream().get(), 10.0, 1));
  side.stream().synchronize();
  EXPECT_FALSE(main.done());
  main.synchronize();
}

}  // namespace
}  // namespace linkgain::gpu

#include "kernels/timing/warm_up.hpp"

#include "linkgain/gpu/stream.hpp"
#include "worker/gpu/gpu_fixture.hpp"

namespace linkgain::kernels {
namespace {

using gpu::check;

class Busy : public test::GpuTest {
 protected:
  /// Device time of one launch.
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

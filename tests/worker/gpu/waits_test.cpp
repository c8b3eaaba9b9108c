#include "linkgain/gpu/waits.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "linkgain/base/errors.hpp"
#include "support/golden.hpp"
#include "worker/gpu/gpu_fixture.hpp"

namespace linkgain::test {
namespace {

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

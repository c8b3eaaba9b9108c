#include "gpu_watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "run_support.hpp"
#include "support/golden.hpp"

namespace linkgain::test {
namespace {

/// A run of four launches of one case on two GPUs, whose second tells less from the second on.
class SilentGpu : public ::testing::Test {
 protected:
  SilentGpu() : bench_({job(kAll)}) {
    bench_.set_cases({1024});
    bench_.plan.launches = 4;
  }

  static FakeScript job(const Health& second) {
    FakeScript script;
    script.health = {kAll, second};
    return script;
  }

  std::string warnings_with(const Health& second) {
    for (const int launch : {1, 2}) bench_.script_of_launch[{0, launch}] = job(second);
    bench_.execute();
    std::string text;
    for (const Warning& each : bench_.record.warnings) {
      if (each.code == "gpu-silent") text += each.text + "\n  " + each.advice + "\n";
    }
    return text;
  }

  static constexpr Health kAll{40, 300.0, 1980, 0};
  RunBench bench_;
};

TEST_F(SilentGpu, IsNamedOnceWithWhatItNoLongerTells) {
  expect_golden(warnings_with({{}, {}, {}, {}}), "gpu_silent.txt");
}

TEST_F(SilentGpu, IsOneThatTellsAllButTheReading) {
  const std::string text = warnings_with({40, {}, 1980, 0});
  EXPECT_THAT(text, testing::HasSubstr("its power, in"));
}

TEST_F(SilentGpu, IsNoneThatTellsAll) { EXPECT_EQ(warnings_with(kAll), ""); }

}  // namespace
}  // namespace linkgain::test

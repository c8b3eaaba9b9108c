// A driver that does not answer, through the NVML double.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "nvml_library.hpp"
#include "support/program.hpp"

namespace linkgain::test {
namespace {

constexpr Seconds kSoon{0.3};

TEST(DriverWatch, EndsTheProcessWhereTheDriverHangs) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const ScratchFolder folder;
  const std::string gate = folder.path() / "gate";
  ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
  EXPECT_EXIT(
      {
        ::setenv("LINKGAIN_NVML_SCENARIO", "h200x2", 1);
        ::setenv("LINKGAIN_NVML_GATE", gate.c_str(), 1);
        std::string reason;
        NvmlLibrary::load(NVML_DOUBLE, reason, kSoon);
        std::exit(0);
      },
      testing::ExitedWithCode(3), "nvmlInit_v2");
}

TEST(DriverWatch, EndsTheProcessWhereTheLibraryCannotBeRead) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const ScratchFolder folder;
  const std::string pipe = folder.path() / "libnvidia-ml.so.1";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EXIT(
      {
        std::string reason;
        NvmlLibrary::load(pipe, reason, kSoon);
        std::exit(0);
      },
      testing::ExitedWithCode(3), "dlopen");
}

TEST(DriverWatch, LetsCallsOneAfterTheOtherTakeLongerInAll) {
  DriverWatch watch(Seconds{2.0});
  for (int i = 0; i < 8; ++i) {
    const DriverWatch::Call call(watch, "short");
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
  }
}

}  // namespace
}  // namespace linkgain::test

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "linkgain/base/errors.hpp"
#include "nccl/api.hpp"

namespace linkgain::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(NcclApi, OnlyNcclTestsHasSettingsOfACommunicator) {
  EXPECT_EQ(communicator_config(CommunicatorSettings::usual).blocking, NCCL_CONFIG_UNDEF_INT);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
  EXPECT_EQ(communicator_config(CommunicatorSettings::usual).nvlinkCentricSched,
            NCCL_CONFIG_UNDEF_INT);
  EXPECT_EQ(communicator_config(CommunicatorSettings::as_nccl_tests).nvlinkCentricSched, 1);
#endif
}

TEST(NcclApi, BuffersThatTheLibraryLacksAreRefusedWithBothVersions) {
  const gpu::NcclLibrary old(NCCL_DOUBLE, "a test");
  for (const Buffers kind : {Buffers::plain, Buffers::allocated, Buffers::registered}) {
    EXPECT_NO_THROW(require_buffers(old, kind)) << name_of(kind);
  }
  try {
    require_buffers(old, Buffers::symmetric);
    FAIL() << "no exception";
  } catch (const MachineError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("need NCCL 2.27"), HasSubstr("is 2.19.3")));
    EXPECT_THAT(error.advice(), HasSubstr("--buffers"));
  }
}

TEST(DeviceApi, Of228NeedsTheVeryLibraryItWasCompiledWith) {
  EXPECT_FALSE(device_api_mismatch(22803, 22803));
  EXPECT_FALSE(device_api_mismatch(22809, 22809));
  for (const int loaded : {22800, 22807, 22902, 23007}) {
    EXPECT_TRUE(device_api_mismatch(22803, loaded)) << loaded;
  }
  EXPECT_TRUE(device_api_mismatch(22809, 22803));
}

TEST(DeviceApi, From229OnNeedsALibraryNoOlder) {
  EXPECT_FALSE(device_api_mismatch(22902, 22902));
  EXPECT_FALSE(device_api_mismatch(22902, 23007));
  EXPECT_TRUE(device_api_mismatch(23007, 22902));
  EXPECT_TRUE(device_api_mismatch(22902, 22809));
}

TEST(DeviceApi, ThatIsMissingOrAnotherIsNamed) {
  EXPECT_THAT(device_api_mismatch(22809, 22705).value_or(""),
              AllOf(HasSubstr("2.27.5"), Not(HasSubstr("2.28.9"))));
  EXPECT_THAT(device_api_mismatch(22809, 22803).value_or(""),
              AllOf(HasSubstr("2.28.9"), HasSubstr("2.28.3")));
}

TEST(DeviceApi, IsThereInABuildThatLoadsItsOwnLibrary) {
#if LINKGAIN_EXPECT_DEVICE_API
  EXPECT_EQ(device_api_problem(), std::nullopt);
#else
  EXPECT_THAT(device_api_problem().value_or(""), HasSubstr("device API"));
#endif
}

}  // namespace
}  // namespace linkgain::test

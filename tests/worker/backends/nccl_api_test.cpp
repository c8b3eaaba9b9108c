#include <gtest/gtest.h>

#include "nccl/api.hpp"

namespace linkgain {
namespace {

TEST(NcclApi, OnlyNcclTestsHasSettingsOfACommunicator) {
  EXPECT_EQ(communicator_config(CommunicatorSettings::usual).blocking, NCCL_CONFIG_UNDEF_INT);
#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 28, 0)
  EXPECT_EQ(communicator_config(CommunicatorSettings::usual).nvlinkCentricSched,
            NCCL_CONFIG_UNDEF_INT);
  EXPECT_EQ(communicator_config(CommunicatorSettings::as_nccl_tests).nvlinkCentricSched, 1);
#endif
}

}  // namespace
}  // namespace linkgain

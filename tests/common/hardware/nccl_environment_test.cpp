#include "linkgain/hardware/nccl_environment.hpp"

#include <gtest/gtest.h>

namespace linkgain {
namespace {

TEST(SteeringVariables, KnowsNamesAndFamilies) {
  EXPECT_EQ(steering_variable("NCCL_P2P_DISABLE")->steers, Steers::road);
  EXPECT_EQ(steering_variable("NCCL_ALGO")->steers, Steers::resources);
  EXPECT_EQ(steering_variable("NCCL_NET_GDR_LEVEL")->steers, Steers::network);
  EXPECT_EQ(steering_variable("NCCL_NET")->steers, Steers::network);
  EXPECT_EQ(steering_variable("NCCL_DEBUG")->steers, Steers::log);
  EXPECT_EQ(steering_variable("NCCL_NVB_DISABLE")->steers, Steers::road);
  EXPECT_EQ(steering_variable("NCCL_SYM_CTAS")->steers, Steers::resources);
  EXPECT_EQ(steering_variable("NCCL_CGA_CLUSTER_SIZE")->steers, Steers::resources);
  EXPECT_EQ(steering_variable("NCCL_CTA_POLICY")->steers, Steers::resources);
  EXPECT_EQ(steering_variable("NCCL_P2P_NET_CHUNKSIZE")->steers, Steers::network);
  EXPECT_EQ(steering_variable("CUDA_LAUNCH_BLOCKING")->steers, Steers::resources);
  EXPECT_EQ(steering_variable("NVIDIA_TF32_OVERRIDE")->steers, Steers::products);
  EXPECT_EQ(steering_variable("CUBLAS_WORKSPACE_CONFIG"), nullptr) << "cuBLASLt does not read it";
  EXPECT_EQ(steering_variable("NCCL_SOCKET_IFNAME"), nullptr);
  EXPECT_EQ(steering_variable("NCCL_NETWORK"), nullptr);
  EXPECT_EQ(steering_variable("PATH"), nullptr);
}

TEST(SteeringVariables, DefaultsAreHarmless) {
  EXPECT_TRUE(is_harmless(*steering_variable("NCCL_P2P_DISABLE"), "0"));
  EXPECT_FALSE(is_harmless(*steering_variable("NCCL_P2P_DISABLE"), "1"));
  EXPECT_FALSE(is_harmless(*steering_variable("NCCL_NVLS_ENABLE"), "0"));
  EXPECT_TRUE(is_harmless(*steering_variable("NCCL_NVLS_ENABLE"), "2"));
  EXPECT_FALSE(is_harmless(*steering_variable("NCCL_ALGO"), "Ring"));
  EXPECT_TRUE(is_harmless(*steering_variable("NCCL_CTA_POLICY"), "DEFAULT"));
  EXPECT_FALSE(is_harmless(*steering_variable("NCCL_CTA_POLICY"), "EFFICIENCY"));
  EXPECT_FALSE(is_harmless(*steering_variable("NCCL_CGA_CLUSTER_SIZE"), "0")) << "not the default";
  EXPECT_FALSE(is_harmless(*steering_variable("NVIDIA_TF32_OVERRIDE"), "0")) << "forbids TF32";
  EXPECT_TRUE(is_harmless(*steering_variable("NCCL_ALGO"), "")) << "set to nothing";
}

}  // namespace
}  // namespace linkgain

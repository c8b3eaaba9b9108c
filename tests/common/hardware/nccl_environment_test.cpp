#include "linkgain/hardware/nccl_environment.hpp"

#include <gtest/gtest.h>

namespace linkgain::test {
namespace {

TEST(NcclEnvironment, KnowsNamesAndFamilies) {
  EXPECT_EQ(known_variable("NCCL_P2P_DISABLE")->affects, Affects::transport);
  EXPECT_EQ(known_variable("NCCL_ALGO")->affects, Affects::resources);
  EXPECT_EQ(known_variable("NCCL_NET_GDR_LEVEL")->affects, Affects::network);
  EXPECT_EQ(known_variable("NCCL_NET")->affects, Affects::network);
  EXPECT_EQ(known_variable("NCCL_DEBUG")->affects, Affects::log);
  EXPECT_EQ(known_variable("NCCL_NVB_DISABLE")->affects, Affects::transport);
  EXPECT_EQ(known_variable("NCCL_SYM_CTAS")->affects, Affects::resources);
  EXPECT_EQ(known_variable("NCCL_CGA_CLUSTER_SIZE")->affects, Affects::resources);
  EXPECT_EQ(known_variable("NCCL_CTA_POLICY")->affects, Affects::resources);
  EXPECT_EQ(known_variable("NCCL_P2P_NET_CHUNKSIZE")->affects, Affects::network);
  EXPECT_EQ(known_variable("CUDA_LAUNCH_BLOCKING")->affects, Affects::resources);
  EXPECT_EQ(known_variable("NVIDIA_TF32_OVERRIDE")->affects, Affects::gemm);
  EXPECT_EQ(known_variable("CUBLAS_WORKSPACE_CONFIG"), nullptr) << "cuBLASLt does not read it";
  EXPECT_EQ(known_variable("NCCL_SOCKET_IFNAME"), nullptr);
  EXPECT_EQ(known_variable("NCCL_NETWORK"), nullptr);
  EXPECT_EQ(known_variable("PATH"), nullptr);
}

TEST(NcclEnvironment, DefaultsAreHarmless) {
  EXPECT_TRUE(is_harmless(*known_variable("NCCL_P2P_DISABLE"), "0"));
  EXPECT_FALSE(is_harmless(*known_variable("NCCL_P2P_DISABLE"), "1"));
  EXPECT_FALSE(is_harmless(*known_variable("NCCL_NVLS_ENABLE"), "0"));
  EXPECT_TRUE(is_harmless(*known_variable("NCCL_NVLS_ENABLE"), "2"));
  EXPECT_FALSE(is_harmless(*known_variable("NCCL_ALGO"), "Ring"));
  EXPECT_TRUE(is_harmless(*known_variable("NCCL_CTA_POLICY"), "DEFAULT"));
  EXPECT_FALSE(is_harmless(*known_variable("NCCL_CTA_POLICY"), "EFFICIENCY"));
  EXPECT_FALSE(is_harmless(*known_variable("NCCL_CGA_CLUSTER_SIZE"), "0")) << "not the default";
  EXPECT_FALSE(is_harmless(*known_variable("NVIDIA_TF32_OVERRIDE"), "0")) << "forbids TF32";
  EXPECT_TRUE(is_harmless(*known_variable("NCCL_ALGO"), "")) << "set to nothing";
}

TEST(NcclEnvironment, WordsAreReadAsTheNumberThatTheyBeginWith) {
  const auto harmless = [](const char* name, const char* value) {
    return is_harmless(*known_variable(name), value);
  };
  const auto misread = [](const char* name, const char* value) {
    return is_misread(*known_variable(name), value);
  };
  for (const char* value : {"true", "yes", "2"}) {
    EXPECT_TRUE(misread("NCCL_P2P_DISABLE", value)) << value;
    EXPECT_TRUE(harmless("NCCL_P2P_DISABLE", value)) << value;
  }
  EXPECT_TRUE(misread("NCCL_SHM_DISABLE", "on"));
  for (const char* value : {"", "0", "00", "0x0", "1", "1 "}) {
    EXPECT_FALSE(misread("NCCL_P2P_DISABLE", value)) << value;
    EXPECT_FALSE(misread("NCCL_SHM_DISABLE", value)) << value;
  }
  EXPECT_FALSE(harmless("NCCL_SHM_DISABLE", "2"));
  EXPECT_FALSE(harmless("NCCL_NVLS_ENABLE", "true")) << "read as 0";
  EXPECT_FALSE(misread("NCCL_CTA_POLICY", "default")) << "takes words";
  EXPECT_FALSE(harmless("NCCL_TUNER_PLUGIN", "0"));
}

}  // namespace
}  // namespace linkgain::test

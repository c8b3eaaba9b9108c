#include "linkgain/diagnostics/finding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "linkgain/hardware/nccl_environment.hpp"

namespace linkgain {
namespace {

Diagnosis with(std::vector<CheckVerdict> verdicts) {
  Diagnosis diagnosis{"node", "2026-11-20T16:40:00Z", {}};
  for (const CheckVerdict verdict : verdicts) {
    diagnosis.findings.push_back(
        {CheckGroup::power, "power-limit", "GPU0", verdict, "300 W of 700 W", "why", "do"});
  }
  return diagnosis;
}

TEST(Finding, HasWords) {
  EXPECT_EQ(name_of(CheckVerdict::ok), "ok");
  EXPECT_EQ(name_of(CheckVerdict::warning), "warning");
  EXPECT_EQ(name_of(CheckVerdict::problem), "problem");
  EXPECT_EQ(name_of(CheckVerdict::not_checkable), "not checkable");
  EXPECT_EQ(name_of(CheckGroup::gpus), "gpus");
  EXPECT_EQ(name_of(CheckGroup::connectivity), "connectivity");
}

TEST(Finding, TheExitCodeIsThatOfTheWorst) {
  using enum CheckVerdict;
  EXPECT_EQ(exit_code_of(with({ok, warning, not_checkable})), ExitCode::success);
  EXPECT_EQ(exit_code_of(with({warning})), ExitCode::success);
  EXPECT_EQ(exit_code_of(with({ok, not_checkable, problem})), ExitCode::problem_found);
  EXPECT_EQ(exit_code_of(with({not_checkable, not_checkable})), ExitCode::machine_cannot);
  EXPECT_EQ(exit_code_of(with({})), ExitCode::machine_cannot);
}

TEST(Finding, IsWrittenAsJson) {
  const std::string text =
      to_json(with({CheckVerdict::problem, CheckVerdict::ok, CheckVerdict::ok}));
  const nlohmann::json document = nlohmann::json::parse(text);
  EXPECT_EQ(document["schema"], "linkgain.diagnosis/1");
  EXPECT_EQ(document["host"], "node");
  EXPECT_EQ(document["checked"], "2026-11-20T16:40:00Z");
  EXPECT_EQ(document["exit_code"], 1);
  EXPECT_EQ(document["counts"],
            (nlohmann::json{{"ok", 2}, {"warning", 0}, {"problem", 1}, {"not checkable", 0}}));
  ASSERT_EQ(document["findings"].size(), 3U);
  EXPECT_EQ(document["findings"][0], (nlohmann::json{{"group", "power"},
                                                     {"id", "power-limit"},
                                                     {"subject", "GPU0"},
                                                     {"verdict", "problem"},
                                                     {"value", "300 W of 700 W"},
                                                     {"why", "why"},
                                                     {"advice", "do"}}));
  EXPECT_TRUE(text.ends_with("}\n"));
}

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

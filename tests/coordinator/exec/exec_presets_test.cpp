#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "linkgain/exec/exec_settings.hpp"
#include "linkgain/exec/presets.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "support/program.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ExecPresets : public testing::Test {
 protected:
  ExecPresets() {
    for (const char* program : {"vllm", "python3", "sh", "ask"}) {
      write_executable(folder_ / program, "#!/bin/sh\n");
    }
    options_.rounds = 1;
    options_.seed = 1;
  }

  ExecPlan plan() const { return make_exec_plan(with_preset(options_), environment()); }
  Environment environment() const { return {{"PATH", folder_.path().string()}}; }

  ScratchFolder folder_;
  ExecOptions options_;
};

TEST_F(ExecPresets, SayAllThatServingAModelTakes) {
  Situations said;
  for (const std::string_view engine : preset_names()) {
    options_.preset = {std::string(engine), "some model"};
    said.add(std::string(engine), dry_run_text(plan(), environment()));
  }
  said.expect_golden("presets.txt");
}

/// Sets all that the caller may have set for the engine or NCCL.
TEST_F(ExecPresets, HaveAnArmThatNoVariableOfTheCallersOpens) {
  const Environment callers{{"PATH", folder_.path().string()},
                            {"GGML_CUDA_P2P", "1"},
                            {"VLLM_ALLREDUCE_USE_FLASHINFER", "1"},
                            {"VLLM_ALLREDUCE_USE_SYMM_MEM", "1"},
                            {"NCCL_P2P_DISABLE", "0"},
                            {"NCCL_P2P_LEVEL", "SYS"},
                            {"NCCL_NVLS_ENABLE", "1"},
                            {"NCCL_WIN_ENABLE", "1"}};
  for (const std::string_view engine : preset_names()) {
    options_.preset = {std::string(engine), "M"};
    const Environment off = environment_of(plan().variants[1], callers);
    EXPECT_TRUE(forbids_p2p("NCCL_P2P_DISABLE", value_of(off, "NCCL_P2P_DISABLE"))) << engine;
    EXPECT_EQ(value_of(off, "NCCL_NVLS_ENABLE") + value_of(off, "NCCL_WIN_ENABLE"), "00") << engine;
    EXPECT_EQ(off.contains("GGML_CUDA_P2P"), engine != "llama.cpp") << engine;
    if (engine != "vllm") continue;
    EXPECT_EQ(value_of(off, "VLLM_ALLREDUCE_USE_FLASHINFER"), "0");
    EXPECT_EQ(value_of(off, "VLLM_ALLREDUCE_USE_SYMM_MEM"), "0");
  }
}

TEST_F(ExecPresets, LeaveWhatWasAskedFor) {
  options_.preset = {"vllm", "M"};
  options_.server = "vllm serve M {args}";
  options_.ready = "up";
  options_.command = {"ask"};
  options_.metrics = {"rate=rate: ([0-9]+)"};
  options_.variants = {"p2p", "ring:NCCL_ALGO=Ring"};
  const ExecPlan made = plan();
  EXPECT_THAT(server_of(made, {.variant = 1}), ElementsAre("vllm", "serve", "M"));
  EXPECT_EQ(made.server->ready.text(), "up");
  EXPECT_THAT(command_of(made, {}), ElementsAre("ask"));
  ASSERT_EQ(made.output.metrics.size(), 1U);
  EXPECT_FALSE(made.output.metrics[0].metric.higher_is_better);
  EXPECT_THAT(made.variants[1].arguments, IsEmpty());
  options_ = {};
  options_.preset = {"vllm", "M"};
  options_.variants = {"p2p", "host"};
  EXPECT_THAT(plan().variants[1].arguments, ElementsAre("--disable-custom-all-reduce"));
  options_.arguments = {"host:--other"};
  EXPECT_THAT(plan().variants[1].arguments, ElementsAre("--other"));
}

TEST_F(ExecPresets, GiveTheServersArgumentsToNoClient) {
  options_.preset = {"vllm", "M"};
  options_.server = "vllm serve M --tensor-parallel-size 4";
  EXPECT_THAT(refusal_of([&] { plan(); }),
              AllOf(HasSubstr("--server has no {args}"), HasSubstr("--disable-custom-all-reduce")));
  options_.variants = {"p2p", "ring:NCCL_ALGO=Ring"};
  EXPECT_THAT(plan().variants[1].arguments, IsEmpty());
  options_.variants = {};
  options_.server += " {args}";
  EXPECT_EQ(server_of(plan(), {.variant = 1}).back(), "--disable-custom-all-reduce");
  options_.server = "";
  options_.preset = {"llama.cpp", "M"};
  EXPECT_EQ(command_of(plan(), {.variant = 2}).back(), "layer");
}

TEST_F(ExecPresets, TakeTheirLoadFromTheAxis) {
  options_.preset = {"sglang", "M"};
  options_.axis = "LOAD=1,64";
  const ExecPlan made = plan();
  EXPECT_EQ(command_of(made, {.value = 1}).back(), "64");
  EXPECT_THAT(refusal_of([&] {
                options_.axis = "OTHER=1,64";
                plan();
              }),
              HasSubstr("{OTHER} stands nowhere"));
}

TEST_F(ExecPresets, NameTheEnginesThatThereAre) {
  options_.preset = {"vlm", "M"};
  const std::string refused = refusal_of([&] { plan(); });
  EXPECT_THAT(refused, HasSubstr("vllm"));
}

}  // namespace
}  // namespace linkgain::test

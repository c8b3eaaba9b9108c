#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "linkgain/exec/exec_settings.hpp"
#include "linkgain/exec/presets.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/summary/repetition.hpp"
#include "support/program.hpp"
#include "support/situations.hpp"

namespace linkgain::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ExecPresets : public testing::Test {
 protected:
  ExecPresets() {
    for (const char* program : {"vllm", "python3", "sh", "ask", "llama-batched-bench", "docker"}) {
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

/// Removes the engines, which may be in a container alone.
TEST_F(ExecPresets, AreShownWhereTheEngineIsMissingAndRefusedBeforeTheFirstRun) {
  for (const auto& [engine, program] : {std::pair("vllm", "vllm"), std::pair("sglang", "python3"),
                                        std::pair("llama.cpp", "llama-batched-bench")}) {
    std::filesystem::remove(folder_ / program);
    options_.preset = {engine, "M"};
    options_.dry_run = true;
    EXPECT_THAT(dry_run_text(plan(), environment()), HasSubstr("# round 1: ")) << engine;
    const std::vector<UsageError> missing = missing_programs(plan(), environment());
    ASSERT_FALSE(missing.empty()) << engine;
    const std::string said = std::string("'") + program + "' is not on PATH";
    EXPECT_THAT(missing.front().what(), HasSubstr(said));
    EXPECT_THAT(missing.front().advice(), HasSubstr("docs/exec.md"));
    options_.dry_run = false;
    EXPECT_THAT(refusal_of([&] { plan(); }), HasSubstr(said));
  }
}

TEST_F(ExecPresets, StandInACommandForAContainer) {
  for (const auto& [engine, program] :
       {std::pair("vllm", "vllm"), std::pair("sglang", "python3")}) {
    std::filesystem::remove(folder_ / program);
    options_.preset = {engine, "some model"};
    options_.server = "docker run image {preset}";
    options_.command = {"docker", "exec", "box", "{preset}"};
    const Words server = server_of(plan(), {.variant = 1});
    EXPECT_THAT(server, AllOf(Contains(program), Contains("some model"),
                              Contains("--disable-custom-all-reduce")));
    EXPECT_THAT(command_of(plan(), {}),
                Contains(AllOf(HasSubstr(program), HasSubstr("--max-concurrency"))));
  }
  options_.preset.front() = "llama.cpp";
  EXPECT_THAT(refusal_of([&] { plan(); }), HasSubstr("llama.cpp has no server"));
  options_.server.clear();
  EXPECT_EQ(command_of(plan(), {.variant = 2}).back(), "layer");
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
  EXPECT_EQ(plan().variants[1].arguments.front(), "--disable-custom-all-reduce");
}

TEST_F(ExecPresets, PutArgumentsBehindTheEnginesOwnUnlessTheseNameTheSameOption) {
  options_.preset = {"sglang", "M"};
  options_.arguments = {"host:--disable-custom-all-reduce --other"};
  EXPECT_THAT(plan().variants[1].arguments,
              ElementsAre("--enforce-disable-flashinfer-allreduce-fusion",
                          "--disable-custom-all-reduce", "--other"));
  options_.preset = {"llama.cpp", "M"};
  options_.arguments = {"peer:-fa 1", "staged:-sm row", "layer:-fa 1"};
  const ExecPlan made = plan();
  EXPECT_THAT(made.variants[0].arguments, ElementsAre("-sm", "tensor", "-fa", "1"));
  EXPECT_THAT(made.variants[1].arguments, ElementsAre("-sm", "row"));
  EXPECT_THAT(made.variants[2].arguments, ElementsAre("-sm", "layer", "-fa", "1"));
}

/// Names variants of the user's own beside those that forbid P2P in other ways.
TEST_F(ExecPresets, SwitchTheEngineByWhetherAVariantAllowsP2p) {
  options_.variants = {"a:NCCL_P2P_LEVEL=LOC", "b:LD_PRELOAD=/x/liblinkgain_no_p2p.so",
                       "c:-GGML_CUDA_P2P", "d:GGML_CUDA_P2P=0", "layer:"};
  options_.preset = {"llama.cpp", "M"};
  std::vector<Variant> made = plan().variants;
  EXPECT_THAT(made[0].unset, ElementsAre("GGML_CUDA_P2P"));
  EXPECT_THAT(made[1].unset, ElementsAre("GGML_CUDA_P2P"));
  EXPECT_THAT(made[2].unset, ElementsAre("GGML_CUDA_P2P"));
  EXPECT_FALSE(made[2].environment.contains("GGML_CUDA_P2P"));
  EXPECT_EQ(made[3].environment.at("GGML_CUDA_P2P"), "0");
  EXPECT_EQ(made[4].environment.at("GGML_CUDA_P2P"), "1");
  EXPECT_THAT(made[3].arguments, ElementsAre("-sm", "tensor"));
  EXPECT_THAT(made[4].arguments, ElementsAre("-sm", "layer"));
  options_.preset = {"vllm", "M"};
  options_.variants.push_back("e:host,VLLM_ALLREDUCE_USE_SYMM_MEM=1");
  options_.control = true;
  made = plan().variants;
  for (const std::size_t off : {0, 1, 5}) EXPECT_EQ(made[off].arguments.size(), 2U) << off;
  for (const std::size_t on : {2, 3, 4}) EXPECT_THAT(made[on].arguments, IsEmpty()) << on;
  EXPECT_EQ(made[5].environment.at("VLLM_ALLREDUCE_USE_SYMM_MEM"), "1");
  EXPECT_EQ(made[5].environment.at("VLLM_ALLREDUCE_USE_FLASHINFER"), "0");
  EXPECT_EQ(made.back().arguments, made.front().arguments);
  EXPECT_EQ(made.back().environment, made.front().environment);
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
  EXPECT_THAT(server_of(plan(), {.variant = 1}), Contains("--disable-custom-all-reduce"));
  options_.server = "";
  options_.preset = {"llama.cpp", "M"};
  EXPECT_EQ(command_of(plan(), {.variant = 2}).back(), "layer");
}

TEST_F(ExecPresets, TakeTheirLoadFromTheAxis) {
  options_.preset = {"sglang", "M"};
  options_.axis = "LOAD=1,64";
  const ExecPlan made = plan();
  EXPECT_THAT(command_of(made, {.value = 1})[2], HasSubstr("--max-concurrency 64 "));
  EXPECT_THAT(refusal_of([&] {
                options_.axis = "OTHER=1,64";
                plan();
              }),
              HasSubstr("{OTHER} stands nowhere"));
}

TEST(ExecPresetName, StandsForTheCommandUnlessItIsTheUsersOwn) {
  Record record;
  record.settings.program.emplace().command = {"sh", "-c", "exec vllm bench serve"};
  record.settings.argv = {"linkgain", "exec", "--preset", "vllm", "M", "--rounds", "3"};
  EXPECT_EQ(measured_command(record), "vllm M");
  record.settings.argv.insert(record.settings.argv.end(), {"--", "ask"});
  EXPECT_THAT(measured_command(record), HasSubstr("bench serve"));
}

TEST_F(ExecPresets, AskForTheModel) {
  for (const std::string_view engine : preset_names()) {
    options_.preset = {std::string(engine)};
    EXPECT_THAT(refusal_of([&] { plan(); }), HasSubstr("has no MODEL"));
  }
}

TEST_F(ExecPresets, NameTheEnginesThatThereAre) {
  options_.preset = {"vlm", "M"};
  const std::string refused = refusal_of([&] { plan(); });
  EXPECT_THAT(refused, HasSubstr("vllm"));
}

}  // namespace
}  // namespace linkgain::test

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "exec_program.hpp"

namespace linkgain::test {
namespace {

using testing::HasSubstr;

// `linkgain exec` of more than two arms: a control, and values of an axis.

class ExecArms : public ExecProgram {};

/// Lists runs whose variants print the same numbers, which differ between rounds by as much.
TEST_F(ExecArms, AreTheSameInListWithinThePrecisionAskedForAlone) {
  const auto listed = [&](const std::string& numbers) {
    ProgramRequest made = request({"--metric", "value ([0-9]+)", "--rounds", "6", "--seed", "1",
                                   "--variant", "a:X=1", "--variant", "b:X=2"},
                                  {"sh", "-c", "echo value " + numbers});
    std::filesystem::remove_all(folder_ / "out");
    run_program(made);
    made.arguments = {LINKGAIN, "list", "--json", folder_.path().string()};
    return std::string(Json::parse(run_program(made).output)["runs"].at(0)["no_result"]);
  };
  EXPECT_EQ(listed("1000{round}"), "same");
  EXPECT_EQ(listed("10{round}"), "inconclusive");
}

/// Finds how often the control is said to differ, and how often host, in 40 runs of a program whose
/// numbers scatter by 2 % and are 10 % higher with host.
TEST_F(ExecArms, ControlDiffersInOneOfTwentyRunsAtMostTwiceAsOften) {
  constexpr int kRuns = 40;
  constexpr int kAtATime = 4;
  constexpr int kPrinted = 12;  // four rounds of three variants
  write_script("toy",
               "#!/bin/sh\nread -r n < next\necho $((n + 1)) > next\n"
               "while [ $n -gt 0 ] && read -r v; do n=$((n - 1)); done < noise\n"
               "[ -z \"$NCCL_P2P_DISABLE\" ] || v=$((v * 11 / 10))\necho \"value $v\"\n");
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0.0, 0.02);
  const auto start = [&](int run) {
    const std::filesystem::path own = folder_ / std::to_string(run);
    std::filesystem::create_directory(own);
    std::ofstream(own / "next") << "1\n";
    std::ofstream list(own / "noise");
    for (int i = 0; i < kPrinted; ++i) list << std::lround(1e6 * std::exp(noise(random))) << "\n";
    list.close();
    ProgramRequest made = request({"--control", "--metric", "value ([0-9]+)", "--rounds", "4",
                                   "--ci-width", "50%", "--seed", std::to_string(run)},
                                  {"../toy"});
    made.directory = own;
    return std::make_unique<Program>(made);
  };
  int differing = 0;
  int found = 0;
  for (int first = 0; first < kRuns; first += kAtATime) {
    std::vector<std::unique_ptr<Program>> running;
    for (int run = first; run < first + kAtATime; ++run) running.push_back(start(run));
    for (int run = first; run < first + kAtATime; ++run) {
      with_status(0, running[static_cast<std::size_t>(run - first)]->finish());
      const Json record =
          Json::parse(read_text(folder_ / std::to_string(run) / "out" / "record.json"));
      const std::string said = record.at("answer").at("sentence");
      differing += said.find("differs from it") == said.npos ? 0 : 1;
      found += said.find("% lower than with host (") == said.npos ? 0 : 1;
    }
  }
  RecordProperty("differing", differing);
  EXPECT_LE(differing, 5);
  EXPECT_GE(found, 38);
}

TEST_F(ExecArms, RunsEachVariantAtEachValue) {
  const Outcome outcome = with_status(
      0, run({"--axis", "LOAD=1,8", "--metric", "value ([0-9]+)", "--rounds", "3", "--control"},
             {"sh", "-c", "echo value $(({LOAD} * 100 + 0$NCCL_P2P_DISABLE * {LOAD} * {LOAD}))"}));
  EXPECT_EQ(log("host-LOAD=8-3"), "value 864\n");
  EXPECT_EQ(log("control-LOAD=1-1"), "value 100\n");
  EXPECT_THAT(outcome.output, HasSubstr("LOAD"));
  EXPECT_EQ(case_named("exec/value/LOAD=8").at("variants").size(), 3U);
  EXPECT_EQ(record().at("runs").size(), 18U);
  EXPECT_THAT(result("report.md"), HasSubstr("value at LOAD=8"));
  EXPECT_THAT(result("report.html"), HasSubstr("value over LOAD"));
}

/// Runs programs that say what the engines do, as their pages show it (presets.cpp names these).
class ExecPresetsOnMocks : public ExecProgram {
 protected:
  Outcome run_preset(const Words& preset, const Words& client = {}) {
    ProgramRequest made = request(joined({"--rounds", "3", "--preset"}, preset), client);
    if (client.empty()) made.arguments.pop_back();  // the --
    made.environment["PATH"] = folder_.path().string() + ":/usr/bin:/bin";
    made.environment["GGML_CUDA_P2P"] = "1";  // by which llama.cpp takes P2P in any case
    return run_program(made);
  }

  /// Writes a client's result, in which host has three quarters of the tokens.
  void write_result() {
    write_script("result",
                 "#!/bin/sh\nrate=382.89 ttft=71.54 tpot=7.91\n"
                 "[ -z \"$NCCL_P2P_DISABLE\" ] || { rate=287.17 ttft=93.20 tpot=10.55; }\n"
                 "echo '============ Serving Benchmark Result ============'\n"
                 "echo 'Request throughput (req/s):              1.73'\n"
                 "echo \"Output token throughput (tok/s):         $rate\"\n"
                 "echo 'Peak output token throughput (tok/s):    512.00'\n"
                 "echo 'Total token throughput (tok/s):          619.85'\n"
                 "echo '---------------Time to First Token----------------'\n"
                 "echo \"Mean TTFT (ms):                          $ttft\"\n"
                 "echo 'Median TTFT (ms):                        73.88'\n"
                 "echo '-----Time per Output Token (excl. 1st token)------'\n"
                 "echo \"Mean TPOT (ms):                          $tpot\"\n"
                 "echo 'P99 TPOT (ms):                           8.03'\n");
  }

  void write_vllm() {
    write_result();
    write_script("vllm",
                 "#!/bin/sh\n[ $1 = bench ] && exec ./result\necho \"served: $*\"\n"
                 "echo '\033[0;36m(APIServer pid=7)\033[0;0m INFO:     Application startup "
                 "complete.'\nexec sleep 1000\n");
  }

  void expect_serving_metrics() const {
    EXPECT_NEAR(ratio_of("exec/tokens/higher"), 382.89 / 287.17, 1e-6);
    EXPECT_NEAR(ratio_of("exec/ttft"), 93.20 / 71.54, 1e-6);
    EXPECT_NEAR(ratio_of("exec/tpot"), 10.55 / 7.91, 1e-6);
  }

  double ratio_of(const std::string& name) const {
    return case_named(name).at("ratios").at(0).at("ratio").get<double>();
  }
};

TEST_F(ExecPresetsOnMocks, ReadVllm) {
  write_vllm();
  const Outcome outcome = with_status(0, run_preset({"vllm", "M"}));
  expect_serving_metrics();
  EXPECT_THAT(outcome.output, HasSubstr("tok/s"));
  EXPECT_THAT(log("p2p-1.server"), HasSubstr("served: serve M --tensor-parallel-size 2\n"));
  EXPECT_THAT(log("staged-1.server"), HasSubstr("size 2 --disable-custom-all-reduce "));
}

/// Has vllm in the container alone, as docs/exec.md starts it.
TEST_F(ExecPresetsOnMocks, ReadVllmInAContainer) {
  write_vllm();
  std::filesystem::create_directory(folder_ / "in");
  std::filesystem::rename(folder_ / "vllm", folder_ / "in" / "vllm");
  write_script("docker",
               "#!/bin/sh\nPATH=$PWD/in:$PATH\n[ $1 = exec ] && shift 2 && exec \"$@\"\n"
               "while [ $1 != image ]; do shift; done; shift; exec \"$@\"\n");
  with_status(0, run_preset({"vllm", "M", "--server",
                             "docker run --name box -e NCCL_P2P_DISABLE -e NCCL_NVLS_ENABLE \\\n"
                             "  -e NCCL_WIN_ENABLE -e VLLM_ALLREDUCE_USE_SYMM_MEM \\\n"
                             "  -e VLLM_ALLREDUCE_USE_FLASHINFER \\\n"
                             "  -e VLLM_ALLREDUCE_USE_FLASHINFER_PCIE_IPC image {preset}"},
                            {"docker", "exec", "box", "{preset}"}));
  expect_serving_metrics();
  EXPECT_THAT(log("staged-1.server"), HasSubstr("size 2 --disable-custom-all-reduce"));
  EXPECT_THAT(warning_codes(), testing::Not(testing::Contains("exec-container")));
}

TEST_F(ExecPresetsOnMocks, ReadSglang) {
  write_result();
  write_script("python3",
               "#!/bin/sh\n[ $2 = sglang.bench_serving ] && exec ./result\n"
               "echo '[2026-11-30 09:00:00] The server is fired up and ready to roll!'\n"
               "exec sleep 1000\n");
  with_status(0, run_preset({"sglang", "M"}));
  expect_serving_metrics();
}

TEST_F(ExecPresetsOnMocks, ReadLlamaBatchedBench) {
  write_script(
      "llama-batched-bench",
      "#!/bin/sh\necho \"asked: $*\"\ncase \"$GGML_CUDA_P2P $*\" in\n"
      "  *layer*) tpp=0.467620 spp=8759.2 ttg=7.007368 stg=1141.7;;\n"
      "  1*tensor*) tpp=0.233810 spp=17518.5 ttg=3.503684 stg=2283.3;;\n"
      "  *) tpp=0.467620 spp=8759.2 ttg=5.255526 stg=1522.2;;\nesac\n"
      "echo \"{\\\"n_kv_max\\\": 12288, \\\"n_batch\\\": 2048, \\\"n_ubatch\\\": 512, "
      "\\\"flash_attn\\\": -1, \\\"is_pp_shared\\\": 0, \\\"n_gpu_layers\\\": 999, "
      "\\\"n_threads\\\": 8, \\\"n_threads_batch\\\": 8, \\\"pp\\\": 512, \\\"tg\\\": 1000, "
      "\\\"pl\\\": 8, \\\"n_kv\\\": 12096, \\\"t_pp\\\": $tpp, \\\"speed_pp\\\": $spp, "
      "\\\"t_tg\\\": $ttg, \\\"speed_tg\\\": $stg, \\\"t\\\": 3.737494, "
      "\\\"speed\\\": 68.495094}\"\n");
  with_status(0, run_preset({"llama.cpp", "my model.gguf"}));
  EXPECT_NEAR(ratio_of("exec/tokens/higher"), 2283.3 / 1522.2, 1e-6);
  EXPECT_NEAR(ratio_of("exec/ttft"), 2.0, 1e-6);
  EXPECT_NEAR(ratio_of("exec/tpot"), 5.255526 / 3.503684, 1e-6);
  EXPECT_NEAR(case_named("exec/tokens/higher").at("ratios").at(1).at("ratio").get<double>(),
              2283.3 / 1141.7, 1e-6);
  EXPECT_THAT(log("peer-1"), HasSubstr("asked: -m my model.gguf -ngl 999 -npl 8 -c 12288 "));
  EXPECT_THAT(log("layer-1"), HasSubstr(" jsonl -sm layer\n"));
}

/// Measures all built-in variants with engines whose speed depends on the words and variables that
/// they get: 2000 tok/s by P2P, 1500 by none, 1250 where only a part of P2P is off, 1000 by layers.
TEST_F(ExecPresetsOnMocks, CompareP2pAloneInEachBuiltInVariant) {
  const std::string head =
      "#!/bin/sh\ncase \"$*\" in *bench_serving*|bench*) exec cat served;; esac\n"
      "nccl=on; case \"$NCCL_P2P_DISABLE$LD_PRELOAD\" in 1*|*no_p2p*) nccl=off;; esac\n";
  const std::string rate =
      "case $nccl$own in onon) rate=2000;; offoff) rate=1500;; *) rate=1250;; esac\n";
  const std::string serve =
      rate +
      "{ echo \"Output token throughput (tok/s): $rate\"; echo 'Mean TTFT (ms): 1'; "
      "echo 'Mean TPOT (ms): 1'; } > served\n"
      "echo 'Application startup complete.'; echo 'The server is fired up and ready to roll!'\n"
      "exec sleep 1000\n";
  write_script("vllm", head +
                           "case \"$*:$VLLM_ALLREDUCE_USE_SYMM_MEM$VLLM_ALLREDUCE_USE_FLASHINFER"
                           "$VLLM_ALLREDUCE_USE_FLASHINFER_PCIE_IPC\" in\n"
                           "  *' 2 --disable-custom-all-reduce "
                           "-cc.pass_config.fuse_allreduce_rms=False:000') own=off;;\n"
                           "  *' 2:') own=on;; *) own=part;; esac\n" +
                           serve);
  write_script("python3", head +
                              "case \"$*\" in *' 2 --disable-custom-all-reduce "
                              "--enforce-disable-flashinfer-allreduce-fusion') own=off;;\n"
                              "  *' 2') own=on;; *) own=part;; esac\n" +
                              serve);
  write_script("llama-batched-bench",
               head + "own=${GGML_CUDA_P2P+on}; own=${own:-off}\n" + rate +
                   "case \"$*\" in *' -sm tensor') ;; *) rate=1000;; esac\n"
                   "echo \"{\\\"t_pp\\\": 1.0, \\\"t_tg\\\": 1.0, \\\"speed_tg\\\": $rate}\"\n");
  for (const char* engine : {"vllm", "sglang", "llama.cpp"}) {
    SCOPED_TRACE(engine);
    const auto measured = [&](const Words& variants) {
      std::filesystem::remove_all(folder_ / "out");
      Words options{engine, "M"};
      for (const std::string& each : variants) options = joined(options, {"--variant", each});
      with_status(0, run_preset(options));
      std::map<std::string, double> ratios;
      const Json of_tokens = case_named("exec/tokens/higher");
      for (const Json& each : of_tokens.at("ratios")) {
        ratios[each.at("variant")] = each.at("ratio").get<double>();
      }
      return ratios;
    };
    const auto ratios =
        measured({"p2p", "host", "p2p-sys", "net", "no-p2p", "ring:NCCL_ALGO=Ring"});
    for (const char* off : {"host", "net", "no-p2p"}) EXPECT_NEAR(ratios.at(off), 4.0 / 3.0, 1e-6);
    for (const char* on : {"p2p-sys", "ring"}) EXPECT_NEAR(ratios.at(on), 1.0, 1e-6) << on;
    for (const std::string off : {"host", "no-p2p"}) {
      measured({"p2p", off});
      EXPECT_THAT(std::string(record().at("answer").at("sentence")),
                  HasSubstr("33 % higher than with " + off));
    }
  }
}

/// Asks each client at loads of which the largest exceeds what it asks in all at the usual one.
TEST_F(ExecPresetsOnMocks, AskForEightTimesTheLoadSoThatItIsHeld) {
  const std::string text =
      "#!/bin/sh\ncase \"$*\" in *bench_serving*|bench*) echo \"asked: $*\"; exec ./result;; esac\n"
      "echo 'Application startup complete.'; echo 'The server is fired up and ready to roll!'\n"
      "exec sleep 1000\n";
  write_result();
  for (const char* program : {"vllm", "python3"}) write_script(program, text);
  for (const char* engine : {"vllm", "sglang"}) {
    SCOPED_TRACE(engine);
    std::filesystem::remove_all(folder_ / "out");
    with_status(0, run_preset({engine, "my model", "--axis", "LOAD=1,8,256"}));
    for (const auto& [load, prompts] : {std::pair(1, 64), {8, 64}, {256, 2048}}) {
      const std::string asked = log("p2p-LOAD=" + std::to_string(load) + "-1");
      EXPECT_THAT(asked, HasSubstr("--model my model --dataset-name random"));
      EXPECT_THAT(asked, HasSubstr("--num-prompts " + std::to_string(prompts) +
                                   " --max-concurrency " + std::to_string(load) + "\n"));
    }
  }
}

}  // namespace
}  // namespace linkgain::test

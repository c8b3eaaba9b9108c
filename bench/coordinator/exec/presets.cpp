#include "linkgain/exec/presets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/exec/command_words.hpp"
#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

/// What serving a model by an engine takes, in the words of exec's options. {MODEL} stands for the
/// model, {LOAD} for the requests at a time where no axis gives it.
struct Preset {
  std::string_view engine;
  std::string_view server;
  std::string_view ready;
  std::string_view client;
  std::vector<std::string_view> variants;
  std::vector<std::string_view> arguments;
  std::vector<std::string_view> metrics;
  std::vector<std::string_view> higher_is_better;
  std::vector<std::string_view> units;
};

constexpr std::string_view kUsualLoad = "8";

/// Both engines print the same summary of a benchmark.
const std::vector<std::string_view> kServingMetrics{
    R"(tokens=Output token throughput \(tok/s\): +([0-9.]+))",
    R"(ttft=Mean TTFT \(ms\): +([0-9.]+))", R"(tpot=Mean TPOT \(ms\): +([0-9.]+))"};
const std::vector<std::string_view> kServingUnits{"tokens=tok/s", "ttft=ms", "tpot=ms"};

const std::array kPresets{
    // https://github.com/vllm-project/vllm/blob/main/docs/benchmarking/cli.md
    Preset{.engine = "vllm",
           .server = "vllm serve {MODEL} --tensor-parallel-size 2 {args}",
           .ready = "Application startup complete",
           .client = "vllm bench serve --model {MODEL} --dataset-name random "
                     "--random-input-len 1024 --random-output-len 128 --ignore-eos "
                     "--num-prompts 64 --max-concurrency {LOAD}",
           // Its other all-reduces over NVLink or PCIe P2P have no option:
           // vllm/distributed/device_communicators/cuda_communicator.py.
           .variants = {"p2p",
                        "staged:host,VLLM_ALLREDUCE_USE_SYMM_MEM=0,VLLM_ALLREDUCE_USE_FLASHINFER=0,"
                        "VLLM_ALLREDUCE_USE_FLASHINFER_PCIE_IPC=0"},
           .arguments = {"staged:--disable-custom-all-reduce", "host:--disable-custom-all-reduce"},
           .metrics = kServingMetrics,
           .higher_is_better = {"tokens"},
           .units = kServingUnits},
    // https://github.com/sgl-project/sglang/blob/main/docs/developer_guide/bench_serving.md
    Preset{.engine = "sglang",
           .server = "python3 -m sglang.launch_server --model-path {MODEL} --tp 2 {args}",
           .ready = "The server is fired up and ready to roll",
           .client = "python3 -m sglang.bench_serving --backend sglang --model {MODEL} "
                     "--dataset-name random-ids --random-input-len 1024 --random-output-len 128 "
                     "--random-range-ratio 1 --num-prompts 64 --max-concurrency {LOAD}",
           // Some models have FlashInfer's all-reduce fused into norms, whatever the first option
           // says.
           .variants = {"p2p", "host"},
           .arguments = {"host:--disable-custom-all-reduce "
                         "--enforce-disable-flashinfer-allreduce-fusion"},
           .metrics = kServingMetrics,
           .higher_is_better = {"tokens"},
           .units = kServingUnits},
    // https://github.com/ggml-org/llama.cpp/blob/master/tools/batched-bench/README.md and
    // docs/multi-gpu.md: mode tensor sums over the GPUs in each layer, mode layer hands on one
    // result. llama-batched-bench has no server; it takes prompts and answers of all requests at
    // once. An answer has 1000 tokens, so that its time in seconds is that of a token in ms.
    Preset{
        .engine = "llama.cpp",
        .server = "",
        .ready = "",
        .client = "sh -c 'exec llama-batched-bench -m \"$0\" -ngl 999 -npl {LOAD} "
                  "-c $(({LOAD} * 1536)) -npp 512 -ntg 1000 --output-format jsonl \"$@\"' "
                  "{MODEL} {args}",
        .variants = {"peer:GGML_CUDA_P2P=1", "staged:host,-GGML_CUDA_P2P", "layer:GGML_CUDA_P2P=1"},
        .arguments = {"peer:-sm tensor", "staged:-sm tensor", "host:-sm tensor", "layer:-sm layer"},
        .metrics = {R"re(tokens="speed_tg": ([0-9.]+))re", R"re(ttft="t_pp": ([0-9.]+))re",
                    R"re(tpot="t_tg": ([0-9.]+))re"},
        .higher_is_better = {"tokens"},
        .units = {"tokens=tok/s", "ttft=s", "tpot=ms"}}};

const Preset& preset_of(const std::string& engine) {
  const auto* const found = std::ranges::find(kPresets, engine, &Preset::engine);
  if (found != kPresets.end()) return *found;
  throw UsageError("--preset: " + unknown_name("engine", engine, preset_names()));
}

/// Replaces each {NAME} by a value.
std::string with(std::string text, std::string_view placeholder, std::string_view value) {
  for (std::size_t place = text.find(placeholder); place != text.npos;
       place = text.find(placeholder, place + value.size())) {
    text.replace(place, placeholder.size(), value);
  }
  return text;
}

/// Gives a command line of a preset for a model.
std::string line_of(std::string_view text, const std::string& model, const ExecOptions& options) {
  const std::string line = with(std::string(text), "{MODEL}", shell_quoted(model));
  return options.axis.starts_with("LOAD=") ? line : with(line, "{LOAD}", kUsualLoad);
}

void fill_in(std::vector<std::string>& option, const std::vector<std::string_view>& preset) {
  if (option.empty()) option.assign(preset.begin(), preset.end());
}

void fill_in(std::string& option, std::string preset) {
  if (option.empty()) option = std::move(preset);
}

/// Gives the preset's arguments of the variants that there are. Refuses a server that would leave
/// its arguments to the client.
void fill_in_arguments(ExecOptions& options, const Preset& preset) {
  if (!options.arguments.empty()) return;
  for (const std::string_view each : preset.arguments) {
    const std::string_view name = each.substr(0, each.find(':'));
    const bool is_there = std::ranges::any_of(options.variants, [=](const std::string& variant) {
      return std::string_view(variant).substr(0, variant.find(':')) == name;
    });
    if (is_there) options.arguments.emplace_back(each);
  }
  const auto has_place = [](std::string_view line) { return line.find(kArguments) != line.npos; };
  if (options.arguments.empty() || !has_place(preset.server) || has_place(options.server)) return;
  throw UsageError(fmt::format("--server has no {}, where the preset's --args '{}' belong",
                               kArguments, fmt::join(options.arguments, "' '")),
                   fmt::format("write {} behind the server's own arguments", kArguments));
}

}  // namespace

std::vector<std::string_view> preset_names() {
  std::vector<std::string_view> names;
  for (const Preset& each : kPresets) names.push_back(each.engine);
  return names;
}

ExecOptions with_preset(ExecOptions options) {
  if (options.preset.empty()) return options;
  const Preset& preset = preset_of(options.preset.front());
  const std::string& model = options.preset.back();
  if (options.command.empty()) {
    options.command = split_words(line_of(preset.client, model, options), "--preset");
  }
  if (!preset.server.empty()) fill_in(options.server, line_of(preset.server, model, options));
  fill_in(options.ready, std::string(preset.ready));
  if (options.metrics.empty() && options.step.empty()) {
    fill_in(options.metrics, preset.metrics);
    fill_in(options.higher_is_better, preset.higher_is_better);
    fill_in(options.units, preset.units);
  }
  fill_in(options.variants, preset.variants);
  fill_in_arguments(options, preset);
  return options;
}

}  // namespace linkgain

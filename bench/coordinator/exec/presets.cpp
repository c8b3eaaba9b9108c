#include "linkgain/exec/presets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"
#include "linkgain/exec/command_words.hpp"
#include "linkgain/hardware/nccl_environment.hpp"
#include "linkgain/record/variants.hpp"
#include "linkgain/tables/escaping.hpp"

namespace linkgain {
namespace {

/// What an engine takes beside a variant's own words: options, and variables as variants name them.
struct EngineWords {
  std::vector<std::string_view> options;
  std::string_view variables;
};

/// What serving a model by an engine takes, in the words of exec's options. {MODEL} stands for the
/// model, {LOAD} for the requests at a time where no axis gives it. Servers get eight times as many
/// prompts, so that they hold the load for most of the time, and at least 64.
struct Preset {
  std::string_view engine;
  std::string_view server;
  std::string_view ready;
  std::string_view client;
  std::vector<std::string_view> variants;
  std::vector<std::string_view> arguments;  ///< "NAME:OPTION" of variants that differ in more
  EngineWords with_p2p;                     ///< of every variant that allows P2P
  EngineWords without_p2p;                  ///< of every one that forbids it
  std::vector<std::string_view> metrics;
  std::vector<std::string_view> higher_is_better;
  std::vector<std::string_view> units;
};

constexpr std::string_view kUsualLoad = "8";
constexpr std::string_view kOwnLine = "{preset}";  // in --server and the command

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
           .client = "sh -c 'exec vllm bench serve --model \"$0\" --dataset-name random "
                     "--random-input-len 1024 --random-output-len 128 --ignore-eos "
                     "--num-prompts $(({LOAD} > 8 ? {LOAD} * 8 : 64)) --max-concurrency {LOAD} "
                     "\"$@\"' {MODEL}",
           .variants = {"p2p", "staged:host"},
           .arguments = {},
           .with_p2p = {},
           // FlashInfer's all-reduce is fused into norms, whatever the first option says
           // (docs/design/fusions.md). Other all-reduces over NVLink or PCIe P2P have no option:
           // vllm/distributed/device_communicators/cuda_communicator.py.
           .without_p2p = {.options = {"--disable-custom-all-reduce",
                                       "-cc.pass_config.fuse_allreduce_rms=False"},
                           .variables = "VLLM_ALLREDUCE_USE_SYMM_MEM=0,"
                                        "VLLM_ALLREDUCE_USE_FLASHINFER=0,"
                                        "VLLM_ALLREDUCE_USE_FLASHINFER_PCIE_IPC=0"},
           .metrics = kServingMetrics,
           .higher_is_better = {"tokens"},
           .units = kServingUnits},
    // https://github.com/sgl-project/sglang/blob/main/docs/developer_guide/bench_serving.md
    Preset{.engine = "sglang",
           .server = "python3 -m sglang.launch_server --model-path {MODEL} --tp 2 {args}",
           .ready = "The server is fired up and ready to roll",
           .client = "sh -c 'exec python3 -m sglang.bench_serving --backend sglang --model \"$0\" "
                     "--dataset-name random-ids --random-input-len 1024 --random-output-len 128 "
                     "--random-range-ratio 1 --num-prompts $(({LOAD} > 8 ? {LOAD} * 8 : 64)) "
                     "--max-concurrency {LOAD} \"$@\"' {MODEL}",
           .variants = {"p2p", "host"},
           .arguments = {},
           .with_p2p = {},
           // Some models have FlashInfer's all-reduce fused into norms here, too.
           .without_p2p = {.options = {"--disable-custom-all-reduce",
                                       "--enforce-disable-flashinfer-allreduce-fusion"},
                           .variables = ""},
           .metrics = kServingMetrics,
           .higher_is_better = {"tokens"},
           .units = kServingUnits},
    // https://github.com/ggml-org/llama.cpp/blob/master/tools/batched-bench/README.md and
    // docs/multi-gpu.md: mode tensor sums over the GPUs in each layer, mode layer hands on one
    // result. llama-batched-bench has no server; it takes prompts and answers of all requests at
    // once. An answer has 1000 tokens, so that its time in seconds is that of a token in ms.
    Preset{.engine = "llama.cpp",
           .server = "",
           .ready = "",
           .client = "sh -c 'exec llama-batched-bench -m \"$0\" -ngl 999 -npl {LOAD} "
                     "-c $(({LOAD} * 1536)) -npp 512 -ntg 1000 --output-format jsonl \"$@\"' "
                     "{MODEL} {args}",
           .variants = {"peer:", "staged:host", "layer:"},
           .arguments = {"layer:-sm layer"},
           .with_p2p = {.options = {"-sm tensor"}, .variables = "GGML_CUDA_P2P=1"},
           .without_p2p = {.options = {"-sm tensor"}, .variables = "-GGML_CUDA_P2P"},
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

/// Puts words in the place of {preset}.
std::vector<std::string> with_words(const std::vector<std::string>& command,
                                    const std::vector<std::string>& words) {
  std::vector<std::string> result;
  for (const std::string& each : command) {
    if (each == kOwnLine) {
      result.insert(result.end(), words.begin(), words.end());
    } else {
      result.push_back(each);
    }
  }
  return result;
}

void fill_in(std::string& option, std::string preset) {
  if (option.empty()) option = std::move(preset);
}

/// Adds variables to those that the variant sets or takes away itself.
void add_variables(Variant& variant, std::string_view variables) {
  const Variant added = parse_variant(fmt::format("added:{}", variables),
                                      {.backend = BackendKind::exec, .several_hosts = false});
  const auto names = [&](const std::string& name) {
    return variant.environment.contains(name) || std::ranges::count(variant.unset, name) > 0;
  };
  for (const auto& [name, value] : added.environment) {
    if (!names(name)) variant.environment[name] = value;
  }
  for (const std::string& name : added.unset) {
    if (!names(name)) variant.unset.push_back(name);
  }
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
  if (options.preset.size() < 2) {
    throw UsageError(fmt::format("--preset {} has no MODEL", preset.engine),
                     fmt::format("name the model to serve: --preset {} MODEL", preset.engine));
  }
  const std::string& model = options.preset.back();
  if (options.command.empty()) options.command = {std::string(kOwnLine)};
  options.command =
      with_words(options.command, split_words(line_of(preset.client, model, options), "--preset"));
  if (!preset.server.empty()) {
    fill_in(options.server, std::string(kOwnLine));
  } else if (options.server.find(kOwnLine) != options.server.npos) {
    throw UsageError(fmt::format("--server: --preset {} has no server", preset.engine),
                     fmt::format("write {} behind --, for what is run", kOwnLine));
  }
  options.server = with(options.server, kOwnLine, line_of(preset.server, model, options));
  fill_in(options.ready, std::string(preset.ready));
  if (options.metrics.empty() && options.step.empty()) {
    fill_in(options.metrics, preset.metrics);
    fill_in(options.higher_is_better, preset.higher_is_better);
    fill_in(options.units, preset.units);
  }
  fill_in(options.variants, preset.variants);
  return options;
}

void add_engine_words(std::vector<Variant>& variants, const ExecOptions& options) {
  if (options.preset.empty()) return;
  const Preset& preset = preset_of(options.preset.front());
  std::vector<std::string> added;
  for (Variant& variant : variants) {
    const bool is_off = std::ranges::any_of(
        variant.environment, [](const auto& each) { return forbids_p2p(each.first, each.second); });
    const EngineWords& engine = is_off ? preset.without_p2p : preset.with_p2p;
    add_variables(variant, engine.variables);
    std::vector<std::string> words;
    const auto add_option = [&](std::string_view option) {
      const std::vector<std::string> own = split_words(option, "--preset");
      if (std::ranges::count(words, own.front()) > 0) return;
      if (std::ranges::count(variant.arguments, own.front()) > 0) return;
      words.insert(words.end(), own.begin(), own.end());
    };
    for (const std::string_view each : preset.arguments) {
      const std::size_t colon = each.find(':');
      if (each.substr(0, colon) == variant.name) add_option(each.substr(colon + 1));
    }
    std::ranges::for_each(engine.options, add_option);
    variant.arguments.insert(variant.arguments.begin(), words.begin(), words.end());
    if (added.empty()) added = words;
  }
  const auto has_place = [](std::string_view line) { return line.find(kArguments) != line.npos; };
  if (added.empty() || !has_place(preset.server) || has_place(options.server)) return;
  throw UsageError(fmt::format("--server has no {}, where the preset's '{}' belongs", kArguments,
                               fmt::join(added, " ")),
                   fmt::format("write {} behind the server's own arguments", kArguments));
}

}  // namespace linkgain

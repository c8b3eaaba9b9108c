#include "linkgain/predict/model_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/text.hpp"

namespace linkgain {
namespace {

struct Row {
  std::string_view name;
  int layers, hidden, heads, kv_heads, head_size, ffn, vocabulary;
};

/// Each is the config.json of the repository that docs/predict.md names.
constexpr std::array kModels{
    Row{"llama-3-8b", 32, 4096, 32, 8, 128, 14336, 128256},
    Row{"llama-3-70b", 80, 8192, 64, 8, 128, 28672, 128256},
    Row{"qwen2.5-7b", 28, 3584, 28, 4, 128, 18944, 152064},
    Row{"qwen2.5-72b", 80, 8192, 64, 8, 128, 29568, 152064},
    Row{"qwen3-8b", 36, 4096, 32, 8, 128, 12288, 151936},
    Row{"qwen3-14b", 40, 5120, 40, 8, 128, 17408, 151936},
    Row{"qwen3-32b", 64, 5120, 64, 8, 128, 25600, 151936},
    Row{"mistral-7b", 32, 4096, 32, 8, 128, 14336, 32768},
    Row{"mistral-small-24b", 40, 5120, 32, 8, 128, 32768, 131072},
    Row{"gemma-2-9b", 42, 3584, 16, 8, 256, 14336, 256000},
    Row{"gemma-2-27b", 46, 4608, 32, 16, 128, 36864, 256000},
    Row{"gemma-3-27b", 62, 5376, 32, 16, 128, 21504, 262208},
};

}  // namespace

bool has_weights(const ModelShape& model) { return model.heads > 0 && model.ffn > 0; }

double layer_weights(const ModelShape& model, int ranks) {
  const double hidden = model.hidden;
  const double queries = static_cast<double>(model.heads) * model.head_size / ranks;
  return hidden * (2.0 * queries + cached_numbers(model, ranks) + 3.0 * model.ffn / ranks);
}

double head_weights(const ModelShape& model) {
  return static_cast<double>(model.vocabulary) * model.hidden;
}

double cached_numbers(const ModelShape& model, int ranks) {
  return 2.0 * std::max(1.0, static_cast<double>(model.kv_heads) / ranks) * model.head_size;
}

std::vector<std::string_view> model_names() {
  std::vector<std::string_view> names;
  for (const Row& row : kModels) names.push_back(row.name);
  return names;
}

ModelShape find_model(std::string_view name) {
  const auto* const row = std::ranges::find(kModels, name, &Row::name);
  if (row == kModels.end()) throw UsageError(unknown_name("model", name, model_names()));
  return {std::string(row->name), row->layers,    row->hidden, row->heads,
          row->kv_heads,          row->head_size, row->ffn,    row->vocabulary};
}

void validate(const ModelShape& model) {
  if (model.layers <= 0 || model.hidden <= 0) {
    throw UsageError(fmt::format("{} is missing", model.layers > 0 ? "--hidden" : "--layers"),
                     "name a model with --model, or give --layers and --hidden");
  }
  if (model.kv_heads > model.heads) {
    throw UsageError(fmt::format("--kv-heads {} is more than the {} heads of queries",
                                 model.kv_heads, model.heads));
  }
  if (model.head_size == 0 && model.heads > 0 && model.hidden % model.heads != 0) {
    throw UsageError(
        fmt::format("--hidden {} is no multiple of --heads {}", model.hidden, model.heads),
        "give --head-size");
  }
}

}  // namespace linkgain

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace linkgain {

/// A decoder with gated feed-forward and grouped queries, as its publisher's config.json has it.
struct ModelShape {
  std::string name;
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;
  int head_size = 0;
  int ffn = 0;
  int vocabulary = 0;  ///< 0: embedding and head are not split over the GPUs
};

/// Bytes of one number, as models are served without quantisation.
inline constexpr double kServedBytes = 2.0;

/// Tells whether heads and feed-forward are known; layers and hidden size alone tell what is sent.
bool has_weights(const ModelShape& model);

/// Returns weights of one of so many ranks in one layer. Key and value heads that are fewer than
/// the ranks are kept by several of them.
double layer_weights(const ModelShape& model, int ranks);

/// Returns weights of the head, which is the embedding once more or its transpose.
double head_weights(const ModelShape& model);

/// Returns the numbers that a layer caches for each token on one of so many ranks.
double cached_numbers(const ModelShape& model, int ranks);

std::vector<std::string_view> model_names();

/// Throws UsageError with the nearest name, or all, where there is no such model.
ModelShape find_model(std::string_view name);

/// Throws UsageError that names the option where layers or hidden size are missing.
void validate(const ModelShape& model);

}  // namespace linkgain

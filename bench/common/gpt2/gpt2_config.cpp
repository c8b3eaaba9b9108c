#include "linkgain/gpt2/gpt2_config.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "linkgain/base/errors.hpp"
#include "linkgain/base/units.hpp"

namespace linkgain {

Gpt2Config gpt2_config(ModelSize size) {
  switch (size) {
    case ModelSize::gpt2:
      return {.vocabulary = 50257, .positions = 1024, .channels = 768, .layers = 12, .heads = 12};
    case ModelSize::tiny:
      return {.vocabulary = 131, .positions = 32, .channels = 64, .layers = 2, .heads = 2};
  }
  throw std::invalid_argument("no such model size");
}

int padded_vocabulary(const Gpt2Config& config) {
  constexpr int kMultiple = 64;
  return static_cast<int>(round_up(config.vocabulary, kMultiple));
}

void validate(const Gpt2Config& config, const BatchShape& shape) {
  if (config.vocabulary < 1 || config.positions < 1 || config.channels < 1 || config.layers < 1 ||
      config.heads < 1) {
    throw UsageError("a model needs at least one of everything");
  }
  if (config.channels % config.heads != 0) {
    throw UsageError(
        fmt::format("{} channels do not divide by {} heads", config.channels, config.heads));
  }
  if (shape.samples < 1) {
    throw UsageError(fmt::format("a batch of {} sequences is none", shape.samples),
                     "take a batch of 1 or more");
  }
  if (shape.length < 1 || shape.length > config.positions) {
    throw UsageError(fmt::format("the model has no sequences of {} tokens", shape.length),
                     fmt::format("take 1 to {}", config.positions));
  }
}

}  // namespace linkgain

#include "step_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>

#include "linkgain/base/errors.hpp"

namespace linkgain {

void take_apart(std::span<const std::int32_t> tokens, const BatchShape& shape, int vocabulary,
                std::int32_t* inputs, std::int32_t* targets) {
  const auto row = static_cast<std::size_t>(shape.length) + 1;
  if (tokens.size() != row * static_cast<std::size_t>(shape.samples)) {
    throw std::logic_error("a batch of another shape");
  }
  const auto is_wrong = [&](std::int32_t token) { return token < 0 || token >= vocabulary; };
  if (std::ranges::any_of(tokens, is_wrong)) {
    throw UsageError(fmt::format("a token is not in 0 ... {}", vocabulary - 1),
                     "take tokens of the model's vocabulary");
  }
  for (std::size_t begin = 0; begin < tokens.size(); begin += row) {
    const auto sample = tokens.subspan(begin, row);
    inputs = std::copy(sample.begin(), sample.end() - 1, inputs);
    targets = std::copy(sample.begin() + 1, sample.end(), targets);
  }
}

void validate_dropout(double probability) {
  if (probability >= 0.0 && probability < 1.0) return;
  throw UsageError(fmt::format("dropout of {} is no probability", probability),
                   "take one from 0 on, below 1; 0.1 is GPT-2's");
}

}  // namespace linkgain

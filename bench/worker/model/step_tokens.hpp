#pragma once

#include <cstdint>
#include <span>

#include "linkgain/gpt2/gpt2_config.hpp"

namespace linkgain {

/// Takes rows of length + 1 tokens apart: `inputs` (shape.tokens() of them) get the first of each
/// row, `targets` the last. Throws std::logic_error where `tokens` is not of that shape, UsageError
/// for a token that the vocabulary lacks; then nothing was written.
void take_apart(std::span<const std::int32_t> tokens, const BatchShape& shape, int vocabulary,
                std::int32_t* inputs, std::int32_t* targets);

/// Throws UsageError where `probability` is not from 0 on and below 1.
void validate_dropout(double probability);

}  // namespace linkgain

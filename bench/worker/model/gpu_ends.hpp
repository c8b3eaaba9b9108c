#pragma once

#include "gpu_block.hpp"
#include "gpu_products.hpp"
#include "gpu_state.hpp"

// The first and the last segment. Tokens are where GpuTokens left them.
namespace linkgain::on_gpu {

/// Token and position embeddings, summed, with dropout, into the first block's input.
void embedding_forward(State& state);

/// From the gradient of the stream. Adds to the gradient of token_embedding.
void embedding_backward(State& state, const Report& report);

/// The final norm, the logits, the loss, and the gradients of the logits in their place.
void head_forward(State& state, Products& products);

/// To the gradients of stream and branch of the last block. Overwrites the gradient of
/// token_embedding, which is not final yet.
void head_backward(State& state, Products& products, const Report& report);

}  // namespace linkgain::on_gpu

#include <algorithm>

#include "kernels/common/pdl.cuh"
#include "kernels/gpt2/activation_vectors.cuh"
#include "kernels/gpt2/embedding.hpp"

namespace linkgain::kernels {
namespace {

constexpr unsigned kThreads = 256;

/// Four channels of one row: a thread's work.
struct Place {
  unsigned row;
  unsigned column;
};

__device__ Place place_of(unsigned i, int channels) {
  const unsigned pitch = static_cast<unsigned>(channels) / 4;
  return {i / pitch, i % pitch * 4};
}

/// Samples of which a thread has the same four channels of the same position.
constexpr int kSamples = 4;

/// Rows of one position in kSamples successive samples, of which the last may not be there.
struct SampleRows {
  std::int64_t first;
  std::int64_t stride;
  std::int64_t end;

  __device__ std::int64_t row(int k) const { return first + k * stride; }
  __device__ bool has(int k) const { return row(k) < end; }
};

/// Returns which of the four channels at `column` of each row are kept: bits 4 k … 4 k + 3.
__device__ std::uint32_t kept_of_samples(const MatrixDropout& dropout, const SampleRows& rows,
                                         int channels, unsigned column) {
  if (dropout.mask.threshold == 0) return 0xffffffffU;
  std::uint32_t bits = 0;
#pragma unroll
  for (int k = 0; k < kSamples; ++k) {
    if (rows.has(k)) bits |= kept_bits(dropout, rows.row(k) * channels + column) << (4 * k);
  }
  return bits;
}

/// Embeds by `blocks` for positions and channels, as many for each group of samples.
__global__ void __launch_bounds__(kThreads)
    embed(EmbeddingShape shape, unsigned fours, unsigned blocks, const std::int32_t* tokens,
          const float* token_embedding, const float* position_embedding, MatrixDropout dropout,
          float* output) {
  const unsigned group = blockIdx.x / blocks;
  const unsigned i = (blockIdx.x - group * blocks) * kThreads + threadIdx.x;
  const int channels = shape.channels;
  const Place place = place_of(i, channels);
  const SampleRows rows{static_cast<std::int64_t>(group) * kSamples * shape.length + place.row,
                        shape.length, i < fours ? shape.rows : 0};
  const float* position = position_embedding + std::int64_t{4} * i;
  const std::uint32_t kept = kept_of_samples(dropout, rows, channels, place.column);
  pdl_wait_then_trigger();
  if (i >= fours) return;
  std::int64_t token[kSamples];
#pragma unroll
  for (int k = 0; k < kSamples; ++k) token[k] = rows.has(k) ? tokens[rows.row(k)] : 0;
  const float4 of_position = load_four(position);
  float4 of_token[kSamples];
#pragma unroll
  for (int k = 0; k < kSamples; ++k) {
    if (rows.has(k)) of_token[k] = load_four(token_embedding + token[k] * channels + place.column);
  }
#pragma unroll
  for (int k = 0; k < kSamples; ++k) {
    if (rows.has(k)) {
      store_four(output + rows.row(k) * channels + place.column,
                 dropped(add(of_token[k], of_position), dropout.mask.scale, kept >> (4 * k)));
    }
  }
}

__global__ void __launch_bounds__(kThreads, 5)
    sum_positions(EmbeddingShape shape, unsigned fours, const float* stream_gradient,
                  MatrixDropout dropout, float* position_gradient) {
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  const int channels = shape.channels;
  const Place place = place_of(i, channels);
  SampleRows rows{place.row, shape.length, i < fours && place.row < shape.length ? shape.rows : 0};
  std::uint32_t kept = kept_of_samples(dropout, rows, channels, place.column);
  pdl_wait_then_trigger();
  float4 sum = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
  while (rows.has(0)) {
    float4 gradients[kSamples];
#pragma unroll
    for (int k = 0; k < kSamples; ++k) {
      if (rows.has(k)) {
        gradients[k] = load_four(stream_gradient + rows.row(k) * channels + place.column);
      }
    }
#pragma unroll
    for (int k = 0; k < kSamples; ++k) {
      if (rows.has(k)) {
        sum = add(sum, dropped(gradients[k], dropout.mask.scale, kept >> (4 * k)));
      }
    }
    rows.first += kSamples * rows.stride;
    kept = kept_of_samples(dropout, rows, channels, place.column);
  }
  if (i < fours) store_four(position_gradient + std::int64_t{4} * i, sum);
}

/// Where the parts of a list begin, in words.
struct ListPlaces {
  std::int64_t pieces;
  std::int64_t merges;
  std::int64_t rows;
};

/// Returns the sum of dropout(stream_gradient) over a piece's rows, four channels of it.
__device__ float4 sum_of_rows(const EmbeddingShape& shape, const std::int32_t* rows, int count,
                              int column, const float* stream_gradient,
                              const MatrixDropout& dropout) {
  constexpr int kInFlight = 4;
  float4 sum = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
  for (int start = 0; start < count; start += kInFlight) {
    std::int64_t elements[kInFlight];
    float4 gradients[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      if (start + k < count) {
        elements[k] = static_cast<std::int64_t>(rows[start + k]) * shape.channels + column;
      }
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      if (start + k < count) gradients[k] = load_four(stream_gradient + elements[k]);
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      if (start + k < count) {
        const std::uint32_t kept = kept_bits(dropout, elements[k]);
        sum = add(sum, dropped(gradients[k], dropout.mask.scale, kept));
      }
    }
  }
  return sum;
}

__device__ TokenPiece piece_at(const std::int32_t* list, const ListPlaces& places, int i) {
  const int4 entry = reinterpret_cast<const int4*>(list + places.pieces)[i];
  return {entry.x, entry.y, entry.z, entry.w};
}

/// Sums by a block for each piece of a token's rows; blocks beyond the pieces have nothing to do.
__global__ void __launch_bounds__(kThreads, 4)
    sum_token_pieces(EmbeddingShape shape, ListPlaces places, const std::int32_t* list,
                     const float* stream_gradient, MatrixDropout dropout, float* token_gradient,
                     float* partials) {
  const int channels = shape.channels;
  const std::int64_t block = blockIdx.x;
  if (threadIdx.x == 0) {
    prefetch(stream_gradient + block * channels, 4 * channels);
    prefetch(list + places.pieces + 4 * block);
    prefetch(list + places.rows + block);
  }
  pdl_wait_then_trigger();
  const TokenPiece piece = piece_at(list, places, static_cast<int>(block));
  if (block >= list[0]) return;
  const bool is_whole = piece.partial < 0;
  float* target = is_whole ? token_gradient + static_cast<std::int64_t>(piece.token) * channels
                           : partials + static_cast<std::int64_t>(piece.partial) * channels;
  for (int column = 4 * static_cast<int>(threadIdx.x); column < channels;
       column += 4 * static_cast<int>(blockDim.x)) {
    float4 before = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
    if (is_whole) before = load_four(target + column);
    const float4 sum = sum_of_rows(shape, list + places.rows + piece.first, piece.count, column,
                                   stream_gradient, dropout);
    store_four(target + column, add(before, sum));
  }
}

/// Merges by a block for each token of several pieces, which are summed in order. Starts early.
__global__ void __launch_bounds__(kThreads)
    merge_token_pieces(EmbeddingShape shape, ListPlaces places, const std::int32_t* list,
                       const float* partials, float* token_gradient) {
  const int4 entry = reinterpret_cast<const int4*>(list + places.merges)[blockIdx.x];
  const bool has_work = static_cast<std::int32_t>(blockIdx.x) < list[1];
  pdl_wait_then_trigger();
  if (!has_work) return;
  const TokenMerge merge{entry.x, entry.y, entry.z, entry.w};
  const float* first = partials + static_cast<std::int64_t>(merge.first) * shape.channels;
  float* target = token_gradient + static_cast<std::int64_t>(merge.token) * shape.channels;
  for (int column = 4 * static_cast<int>(threadIdx.x); column < shape.channels;
       column += 4 * static_cast<int>(blockDim.x)) {
    float4 sum = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
#pragma unroll 8
    for (int k = 0; k < merge.count; ++k) {
      sum = add(sum, load_four(first + static_cast<std::int64_t>(k) * shape.channels + column));
    }
    store_four(target + column, add(load_four(target + column), sum));
  }
}

bool fits(const EmbeddingShape& shape) {
  return shape.rows >= 0 && shape.length > 0 && shape.rows % shape.length == 0 &&
         shape.channels > 0 && shape.channels % 4 == 0 && shape.rows * shape.channels <= INT32_MAX;
}

unsigned blocks_for(std::int64_t threads) {
  return static_cast<unsigned>(divide_up(threads, kThreads));
}

/// Returns threads of a block whose threads each take four channels at a time.
unsigned row_threads(int channels) {
  const int needed = round_up(channels / 4, kWarpThreads);
  return static_cast<unsigned>(std::min(needed, static_cast<int>(kThreads)));
}

}  // namespace

cudaError_t embedding_forward(const EmbeddingShape& shape, const std::int32_t* tokens,
                              const float* token_embedding, const float* position_embedding,
                              const MatrixDropout& dropout, float* output, cudaStream_t stream) {
  if (!fits(shape) || !fits(dropout) || !are_aligned(token_embedding, position_embedding, output)) {
    return cudaErrorInvalidValue;
  }
  if (shape.rows == 0) return cudaSuccess;
  const std::int64_t fours = shape.length * shape.channels / 4;
  const auto groups = static_cast<unsigned>(divide_up(shape.rows / shape.length, kSamples));
  const unsigned blocks = blocks_for(fours);
  return launch_pdl(embed, groups * blocks, kThreads, stream, shape, static_cast<unsigned>(fours),
                    blocks, tokens, token_embedding, position_embedding, dropout, output);
}

cudaError_t position_embedding_backward(const EmbeddingShape& shape, const float* stream_gradient,
                                        const MatrixDropout& dropout, std::int64_t positions,
                                        float* position_gradient, cudaStream_t stream) {
  if (!fits(shape) || !fits(dropout) || !are_aligned(stream_gradient, position_gradient) ||
      positions < shape.length || positions * shape.channels > INT32_MAX) {
    return cudaErrorInvalidValue;
  }
  const std::int64_t fours = positions * shape.channels / 4;
  return launch_pdl(sum_positions, blocks_for(fours), kThreads, stream, shape,
                    static_cast<unsigned>(fours), stream_gradient, dropout, position_gradient);
}

std::int64_t token_embedding_backward_scratch(const EmbeddingShape& shape) {
  const std::int64_t elements = TokenRowsLayout{shape.rows}.most_partials() * shape.channels;
  return elements * static_cast<std::int64_t>(sizeof(float));
}

cudaError_t token_embedding_backward(const EmbeddingShape& shape, const std::int32_t* list,
                                     const float* stream_gradient, const MatrixDropout& dropout,
                                     float* token_gradient, void* scratch, cudaStream_t stream) {
  if (!fits(shape) || !fits(dropout) ||
      !are_aligned(list, stream_gradient, token_gradient, scratch)) {
    return cudaErrorInvalidValue;
  }
  if (shape.rows == 0) return cudaSuccess;
  const TokenRowsLayout layout{shape.rows};
  const ListPlaces places{layout.pieces_at(), layout.merges_at(), layout.rows_at()};
  auto* partials = static_cast<float*>(scratch);
  const unsigned threads = row_threads(shape.channels);
  const cudaError_t status =
      launch_pdl(sum_token_pieces, static_cast<unsigned>(shape.rows), threads, stream, shape,
                 places, list, stream_gradient, dropout, token_gradient, partials);
  const std::int64_t merges = layout.most_merges();
  if (status != cudaSuccess || merges == 0) return status;
  return launch_pdl(merge_token_pieces, static_cast<unsigned>(merges), threads, stream, shape,
                    places, list, partials, token_gradient);
}

}  // namespace linkgain::kernels

#include "timed_kernels.hpp"

#include <set>

#include "kernels/copy/copy.hpp"
#include "kernels/gpt2/adamw.hpp"
#include "kernels/gpt2/column_sums.hpp"
#include "kernels/gpt2/cross_entropy.hpp"
#include "kernels/gpt2/embedding.hpp"
#include "kernels/gpt2/gelu.hpp"
#include "kernels/gpt2/layer_norm.hpp"
#include "kernels/gpt2/zipf_tokens.hpp"

namespace linkgain::kernels {
namespace {

constexpr std::int64_t kLength = 1024;
constexpr std::int64_t kRows = 4 * kLength;
constexpr int kChannels = 768;
constexpr std::int64_t kElements = kRows * kChannels;
constexpr int kVocabulary = 50257;
constexpr int kPadded = 50304;
constexpr std::int64_t kParameters = 124'439'808;
constexpr std::int64_t kFloatBytes = 4;
constexpr NormShape kNorm{kRows, kChannels, 1e-5F};
constexpr EmbeddingShape kEmbedding{kRows, kLength, kChannels};

constexpr MatrixDropout dropout() { return {dropout_mask(1, 2, 3, 0.1), 0}; }

std::int64_t bytes_of(ElementType type) { return traits_of(type).bytes; }

std::vector<std::int32_t> usual_tokens() { return zipf_tokens(kRows, kVocabulary); }

std::int64_t different_tokens() {
  const std::vector<std::int32_t> tokens = usual_tokens();
  return static_cast<std::int64_t>(std::set<std::int32_t>(tokens.begin(), tokens.end()).size());
}

TimedKernel timed_norm_forward(ElementType type, bool adds) {
  const std::int64_t bytes = kElements * (kFloatBytes + bytes_of(type)) * (adds ? 2 : 1);
  return {adds ? "add_norm_forward" : "norm_forward", type, bytes, [=](BufferSet& set) -> Launch {
            const float* residual = set.floats(kElements);
            const NormForward norm{set.floats(kChannels), set.floats(kChannels),
                                   set.values(type, kElements), set.floats(kRows),
                                   set.floats(kRows)};
            if (!adds) {
              return [=](cudaStream_t stream) {
                return norm_forward(type, kNorm, residual, norm, stream);
              };
            }
            const Branch branch{set.values(type, kElements), dropout()};
            float* sum = set.floats(kElements);
            return [=](cudaStream_t stream) {
              return add_norm_forward(type, kNorm, residual, branch, sum, norm, stream);
            };
          }};
}

TimedKernel timed_norm_backward(ElementType type, bool is_last) {
  const std::int64_t stream_bytes = is_last ? kFloatBytes : 2 * kFloatBytes;
  const std::int64_t bytes = kElements * (2 * bytes_of(type) + kFloatBytes + stream_bytes);
  return {
      is_last ? "norm_backward, overwriting" : "norm_backward", type, bytes,
      [=](BufferSet& set) -> Launch {
        const NormBackward norm{set.values(type, kElements),
                                set.floats(kElements),
                                set.floats(kRows),
                                set.floats(kRows),
                                set.floats(kChannels),
                                set.floats(kElements),
                                is_last,
                                set.floats(kChannels),
                                set.floats(kChannels)};
        const BranchGradient branch{set.values(type, kElements), dropout(), set.floats(kChannels)};
        void* scratch = set.scratch(norm_backward_scratch(kChannels));
        return [=](cudaStream_t stream) {
          return norm_backward(type, kNorm, norm, branch, scratch, stream);
        };
      }};
}

TimedKernel timed_gelu_forward(ElementType type) {
  constexpr std::int64_t kCount = 4 * kElements;
  return {"gelu_forward", type, 2 * kCount * bytes_of(type), [=](BufferSet& set) -> Launch {
            const void* input = set.values(type, kCount);
            void* output = set.values(type, kCount);
            return [=](cudaStream_t stream) {
              return gelu_forward(type, input, output, kCount, stream);
            };
          }};
}

TimedKernel timed_gelu_backward(ElementType type) {
  constexpr int kColumns = 4 * kChannels;
  constexpr std::int64_t kCount = kRows * kColumns;
  return {"gelu_backward", type, 3 * kCount * bytes_of(type), [=](BufferSet& set) -> Launch {
            const void* input = set.values(type, kCount);
            void* gradient = set.values(type, kCount);
            float* bias = set.floats(kColumns);
            void* scratch = set.scratch(column_sums_scratch(kColumns));
            return [=](cudaStream_t stream) {
              return gelu_backward(type, kRows, kColumns, input, gradient, bias, scratch, stream);
            };
          }};
}

TimedKernel timed_column_sums(ElementType type) {
  constexpr int kColumns = 3 * kChannels;
  return {"column_sums", type, kRows * kColumns * bytes_of(type), [=](BufferSet& set) -> Launch {
            const void* matrix = set.values(type, kRows * kColumns);
            float* sums = set.floats(kColumns);
            void* scratch = set.scratch(column_sums_scratch(kColumns));
            return [=](cudaStream_t stream) {
              return column_sums(type, kRows, kColumns, matrix, sums, scratch, stream);
            };
          }};
}

TimedKernel timed_token_loss(ElementType type) {
  return {"token_loss", type, 2 * kRows * kPadded * bytes_of(type), [=](BufferSet& set) -> Launch {
            void* logits = set.values(type, kRows * kPadded);
            const std::int32_t* targets = set.words(usual_tokens());
            float* losses = set.floats(kRows);
            float* mean = set.floats(1);
            return [=](cudaStream_t stream) {
              return token_loss(type, {kRows, kVocabulary, kPadded}, targets, 1.0F / kRows, logits,
                                losses, mean, stream);
            };
          }};
}

TimedKernel timed_embedding_forward() {
  const std::int64_t rows = different_tokens() + kLength + kRows;
  return {"embedding_forward", ElementType::float32, rows * kChannels * kFloatBytes,
          [=](BufferSet& set) -> Launch {
            const std::int32_t* tokens = set.words(usual_tokens());
            const float* of_tokens = set.floats(std::int64_t{kVocabulary} * kChannels);
            const float* of_positions = set.floats(kLength * kChannels);
            float* output = set.floats(kElements);
            return [=](cudaStream_t stream) {
              return embedding_forward(kEmbedding, tokens, of_tokens, of_positions, dropout(),
                                       output, stream);
            };
          }};
}

TimedKernel timed_position_backward() {
  return {"position_embedding_backward", ElementType::float32,
          (kRows + kLength) * kChannels * kFloatBytes, [=](BufferSet& set) -> Launch {
            const float* gradient = set.floats(kElements);
            float* positions = set.floats(kLength * kChannels);
            return [=](cudaStream_t stream) {
              return position_embedding_backward(kEmbedding, gradient, dropout(), kLength,
                                                 positions, stream);
            };
          }};
}

TimedKernel timed_token_backward() {
  const std::int64_t rows = kRows + 2 * different_tokens();
  return {"token_embedding_backward", ElementType::float32, rows * kChannels * kFloatBytes,
          [=](BufferSet& set) -> Launch {
            const TokenRowsLayout layout{kRows};
            std::vector<std::int32_t> words(static_cast<std::size_t>(layout.words()));
            list_token_rows(usual_tokens().data(), layout, words.data());
            const std::int32_t* list = set.words(words);
            const float* gradient = set.floats(kElements);
            float* tokens = set.floats(std::int64_t{kVocabulary} * kChannels);
            void* scratch = set.scratch(token_embedding_backward_scratch(kEmbedding));
            return [=](cudaStream_t stream) {
              return token_embedding_backward(kEmbedding, list, gradient, dropout(), tokens,
                                              scratch, stream);
            };
          }};
}

TimedKernel timed_squared_norm() {
  return {"add_squared_norm", ElementType::float32, kParameters * kFloatBytes,
          [=](BufferSet& set) -> Launch {
            const float* values = set.floats(kParameters);
            float* sum = set.floats(1);
            void* scratch = set.scratch(squared_norm_scratch());
            return [=](cudaStream_t stream) {
              return add_squared_norm(values, kParameters, sum, scratch, stream);
            };
          }};
}

/// Times bfloat16 with the copy that it writes.
TimedKernel timed_adam(ElementType type) {
  const bool has_copy = type == ElementType::bfloat16;
  const std::int64_t bytes = kParameters * (7 * kFloatBytes + (has_copy ? bytes_of(type) : 0));
  return {"adam_update", type, bytes, [=](BufferSet& set) -> Launch {
            const AdamRange range{set.floats(kParameters),
                                  set.floats(kParameters),
                                  set.floats(kParameters),
                                  set.floats(kParameters),
                                  has_copy ? set.values(type, kParameters) : nullptr,
                                  kParameters};
            const float* norm = set.floats(1);
            return [=](cudaStream_t stream) {
              return adam_update(range, {5e-5, 0.9, 0.999, 0.1, 0.001, 1e-8, 1.0}, norm, stream);
            };
          }};
}

TimedKernel timed_rounding() {
  return {"copy_as_bfloat16", ElementType::bfloat16, kParameters * 6,
          [=](BufferSet& set) -> Launch {
            const float* values = set.floats(kParameters);
            void* copy = set.values(ElementType::bfloat16, kParameters);
            return [=](cudaStream_t stream) {
              return copy_as_bfloat16(values, copy, kParameters, stream);
            };
          }};
}

TimedKernel timed_hash() {
  return {
      "add_hash", ElementType::float32, kParameters * kFloatBytes, [=](BufferSet& set) -> Launch {
        const float* values = set.floats(kParameters);
        auto* hash = static_cast<std::uint64_t*>(set.scratch(sizeof(std::uint64_t)));
        return [=](cudaStream_t stream) { return add_hash(values, 0, kParameters, hash, stream); };
      }};
}

TimedKernel timed_copy(bool by_driver, std::int64_t bytes) {
  return {by_driver ? "cudaMemcpyAsync" : "copy", ElementType::float32, 2 * bytes,
          [=](BufferSet& set) -> Launch {
            const void* from = set.floats(bytes / kFloatBytes);
            void* to = set.floats(bytes / kFloatBytes);
            if (by_driver) {
              return [=](cudaStream_t stream) {
                return cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes),
                                       cudaMemcpyDeviceToDevice, stream);
              };
            }
            return
                [=](cudaStream_t stream) { return copy(to, from, bytes, kCopyShapes[0], stream); };
          }};
}

}  // namespace

std::vector<TimedKernel> copy_kernels() {
  constexpr std::int64_t kBytes = std::int64_t{1} << 29;
  return {timed_copy(true, kBytes), timed_copy(false, kBytes)};
}

TimedKernel copy_of(std::int64_t bytes) {
  constexpr std::int64_t kWhole = 1 << 17;  // odd sizes take the driver longer
  return timed_copy(true, round_up(bytes, kWhole) / 2);
}

std::vector<TimedKernel> training_kernels(ElementType type) {
  std::vector<TimedKernel> kernels{timed_norm_forward(type, false),
                                   timed_norm_forward(type, true),
                                   timed_norm_backward(type, false),
                                   timed_norm_backward(type, true),
                                   timed_gelu_forward(type),
                                   timed_gelu_backward(type),
                                   timed_column_sums(type),
                                   timed_token_loss(type),
                                   timed_adam(type)};
  if (type == ElementType::bfloat16) {
    kernels.push_back(timed_rounding());
  } else {
    for (const TimedKernel& kernel : {timed_embedding_forward(), timed_position_backward(),
                                      timed_token_backward(), timed_squared_norm(), timed_hash()}) {
      kernels.push_back(kernel);
    }
  }
  return kernels;
}

}  // namespace linkgain::kernels

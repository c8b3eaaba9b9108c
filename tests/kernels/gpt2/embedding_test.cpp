#include "kernels/gpt2/embedding.hpp"

#include <string>

#include "device_array.hpp"

namespace linkgain::kernels {
namespace {

constexpr int kVocabulary = 211;
constexpr int kPositions = 40;

struct Case {
  EmbeddingShape shape;
  MatrixDropout dropout;

  std::int64_t elements() const { return shape.rows * shape.channels; }
};

/// Lists samples of lengths up to all positions, and numbers of elements beyond 2^34, whose blocks
/// of random words need more than 32 bits.
std::vector<Case> cases() {
  std::vector<Case> cases;
  for (const double probability : {0.0, 0.1, 0.5}) {
    for (const std::int64_t first : {std::int64_t{0}, std::int64_t{1} << 36}) {
      const MatrixDropout dropout{dropout_mask(9, 2, kEmbeddingDropout, probability), first};
      for (const auto& [samples, length, channels] : std::vector<std::array<int, 3>>{
               {1, 1, 4}, {3, 5, 64}, {50, 40, 68}, {7, 33, 768}, {2, 8, 1600}}) {
        cases.push_back({{std::int64_t{samples} * length, length, channels}, dropout});
      }
    }
  }
  return cases;
}

/// Gives half of them the same token, so that its rows are many pieces.
std::vector<std::int32_t> tokens_of(const Case& embedding) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < embedding.shape.rows; ++i) {
    const std::uint64_t word = mix(static_cast<std::uint64_t>(i) + 77);
    tokens.push_back(word % 2 == 0 ? 5 : static_cast<std::int32_t>(word / 2 % kVocabulary));
  }
  return tokens;
}

DeviceArray on_device(const std::vector<std::int32_t>& words) {
  return {ElementType::int32, Values(words.begin(), words.end())};
}

double dropped(const MatrixDropout& dropout, std::int64_t element, double value) {
  if (!is_kept(dropout.mask, dropout.first + element)) return 0.0;
  return value * static_cast<double>(dropout.mask.scale);
}

std::string name_of(const Case& embedding) {
  return std::to_string(embedding.shape.rows) + " rows, length " +
         std::to_string(embedding.shape.length) + ", " + std::to_string(embedding.shape.channels) +
         " channels, first " + std::to_string(embedding.dropout.first);
}

class Embedding : public test::GpuTest {};

TEST_F(Embedding, adds_token_and_position_and_drops) {
  const gpu::Stream stream;
  for (const Case& embedding : cases()) {
    SCOPED_TRACE(name_of(embedding));
    const std::int64_t channels = embedding.shape.channels;
    const std::vector<std::int32_t> tokens = tokens_of(embedding);
    const Values of_tokens = noise(ElementType::float32, 1, kVocabulary * channels);
    const Values of_positions = noise(ElementType::float32, 2, kPositions * channels);
    const DeviceArray token_memory(ElementType::float32, of_tokens);
    const DeviceArray position_memory(ElementType::float32, of_positions);
    const DeviceArray token_list = on_device(tokens);
    const DeviceArray output(ElementType::float32, embedding.elements());
    gpu::check(embedding_forward(embedding.shape, token_list.integers(), token_memory.floats(),
                                 position_memory.floats(), embedding.dropout, output.floats(),
                                 stream.get()));
    Values expected;
    for (std::int64_t i = 0; i < embedding.elements(); ++i) {
      const std::int64_t row = i / channels;
      const std::int64_t token = tokens[static_cast<std::size_t>(row)];
      const std::int64_t position = row % embedding.shape.length;
      const double sum = of_tokens[static_cast<std::size_t>(token * channels + i % channels)] +
                         of_positions[static_cast<std::size_t>(position * channels + i % channels)];
      expected.push_back(dropped(embedding.dropout, i, sum));
    }
    // Two roundings, of sum and product; what is dropped is exactly 0.
    expect_close(output.values(), expected, 2 * 0x1p-23, 0.0);
  }
}

/// The gradient of position embeddings and, in `list`'s order, of those of tokens.
struct BackwardRun {
  BackwardRun(const Case& embedding, const Values& gradients, const Values& before)
      : gradient(ElementType::float32, gradients),
        positions(ElementType::float32, kPositions * embedding.shape.channels),
        tokens(ElementType::float32, before) {
    const gpu::Stream stream;
    const TokenRowsLayout layout{embedding.shape.rows};
    std::vector<std::int32_t> words(static_cast<std::size_t>(layout.words()));
    list_token_rows(tokens_of(embedding).data(), layout, words.data());
    const DeviceArray list = on_device(words);
    const DeviceArray scratch = scratch_of(token_embedding_backward_scratch(embedding.shape));
    gpu::check(position_embedding_backward(embedding.shape, gradient.floats(), embedding.dropout,
                                           kPositions, positions.floats(), stream.get()));
    gpu::check(token_embedding_backward(embedding.shape, list.integers(), gradient.floats(),
                                        embedding.dropout, tokens.floats(), scratch.data(),
                                        stream.get()));
    stream.synchronize();
    scratch.bits();  // its guards
  }

  DeviceArray gradient;
  DeviceArray positions;
  DeviceArray tokens;
};

TEST_F(Embedding, gives_gradients_to_positions_and_tokens) {
  for (const Case& embedding : cases()) {
    SCOPED_TRACE(name_of(embedding));
    const std::int64_t channels = embedding.shape.channels;
    const std::vector<std::int32_t> tokens = tokens_of(embedding);
    const Values gradients = noise(ElementType::float32, 3, embedding.elements());
    const Values before = noise(ElementType::float32, 4, kVocabulary * channels);
    const BackwardRun run(embedding, gradients, before);
    CheckedSums of_positions(kPositions * channels);
    CheckedSums of_tokens(kVocabulary * channels);
    for (std::size_t i = 0; i < before.size(); ++i) {
      of_tokens.add(static_cast<std::int64_t>(i), before[i]);
    }
    for (std::int64_t i = 0; i < embedding.elements(); ++i) {
      const double term = dropped(embedding.dropout, i, gradients[static_cast<std::size_t>(i)]);
      const std::int64_t row = i / channels;
      of_positions.add(row % embedding.shape.length * channels + i % channels, term);
      of_tokens.add(tokens[static_cast<std::size_t>(row)] * channels + i % channels, term);
    }
    // A rounding for each of up to 50 samples and one for each product.
    of_positions.expect(run.positions.values(), 51 * 0x1p-24, 0.0);
    // 16 in a piece, up to 70 pieces, one for each product and one for the gradient before.
    of_tokens.expect(run.tokens.values(), 88 * 0x1p-24, 0.0);
    EXPECT_EQ(run.gradient.values(), gradients);
    const BackwardRun again(embedding, gradients, before);
    EXPECT_EQ(again.positions.bits(), run.positions.bits());
    EXPECT_EQ(again.tokens.bits(), run.tokens.bits());
  }
}

TEST_F(Embedding, leaves_tokens_of_no_row_as_they_are) {
  const Case embedding{{64, 32, 64}, no_dropout()};
  const std::vector<std::int32_t> tokens = tokens_of(embedding);
  const Values before = noise(ElementType::float32, 4, kVocabulary * 64);
  const Values gradients = noise(ElementType::float32, 3, embedding.elements());
  const Values after = BackwardRun(embedding, gradients, before).tokens.values();
  int untouched = 0;
  for (std::int32_t token = 0; token < kVocabulary; ++token) {
    if (std::find(tokens.begin(), tokens.end(), token) != tokens.end()) continue;
    ++untouched;
    for (std::size_t j = 0; j < 64; ++j) {
      const std::size_t i = static_cast<std::size_t>(token) * 64 + j;
      ASSERT_EQ(after[i], before[i]) << "token " << token;
    }
  }
  EXPECT_GT(untouched, 100);
}

TEST_F(Embedding, refuses_what_does_not_fit) {
  const DeviceArray memory(ElementType::float32, 1024);
  const auto embed = [&](const EmbeddingShape& shape, std::int64_t first) {
    return embedding_forward(shape, memory.integers(), memory.floats(), memory.floats(),
                             {no_dropout().mask, first}, memory.floats(), nullptr);
  };
  EXPECT_EQ(embed({4, 3, 8}, 0), cudaErrorInvalidValue);
  EXPECT_EQ(embed({4, 2, 6}, 0), cudaErrorInvalidValue);
  EXPECT_EQ(embed({4, 2, 8}, 3), cudaErrorInvalidValue);
  EXPECT_EQ(position_embedding_backward({4, 4, 8}, memory.floats(), no_dropout(), 3,
                                        memory.floats(), nullptr),
            cudaErrorInvalidValue);
}

}  // namespace
}  // namespace linkgain::kernels

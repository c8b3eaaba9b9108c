#include "gpu_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/gpt2/token_rows.hpp"
#include "linkgain/gpt2/gpt2_config.hpp"
#include "linkgain/gpt2/training_parameters.hpp"

namespace linkgain::test {
namespace {

using kernels::TrainingPrecision;

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kGiB = 1024.0 * kMiB;
const Bytes kScratch{3 << 20};

const Gpt2Config kGpt2 = gpt2_config(ModelSize::gpt2);
const Gpt2Config kTiny = gpt2_config(ModelSize::tiny);

/// Returns all spans but the parts of wide_gradient.
std::vector<MemorySpan> spans_of(const GpuModelMemory& memory) {
  std::vector<MemorySpan> spans;
  const auto add_norm = [&](const NormSpans& norm) {
    spans.insert(spans.end(), {norm.mean, norm.inverse_deviation});
  };
  for (const BlockSpans& block : memory.blocks) {
    spans.insert(spans.end(), {block.input, block.attention_input, block.qkv, block.lse,
                               block.dropout_bits, block.attention, block.middle,
                               block.feed_forward_input, block.expanded, block.activated});
    add_norm(block.attention_norm);
    add_norm(block.feed_forward_norm);
  }
  add_norm(memory.final_norm);
  spans.insert(spans.end(),
               {memory.final_input, memory.final_output, memory.logits, memory.row_losses,
                memory.stream_gradient, memory.branch, memory.wide_gradient,
                memory.attention_scratch, memory.kernel_scratch, memory.inputs, memory.targets,
                memory.token_rows, memory.loss, memory.squared_norm, memory.hash});
  return spans;
}

void expect_sound(const GpuModelMemory& memory) {
  std::vector<MemorySpan> spans = spans_of(memory);
  std::ranges::sort(spans, {}, &MemorySpan::begin);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    EXPECT_GT(spans[i].bytes, 0) << i;
    EXPECT_EQ(spans[i].begin % kSpanAlignment, 0) << i;
    const std::int64_t next = i + 1 < spans.size() ? spans[i + 1].begin : memory.arena.value;
    EXPECT_LE(spans[i].end(), next) << i;
    EXPECT_LT(next - spans[i].end(), kSpanAlignment) << i;
  }
}

TEST(GpuMemory, SpansLieApartAndAligned) {
  for (const auto precision : {kernels::TrainingPrecision::fp32, kernels::TrainingPrecision::tf32,
                               kernels::TrainingPrecision::bf16}) {
    expect_sound(gpu_model_memory(kGpt2, {4, 1024}, precision, kScratch));
    expect_sound(gpu_model_memory(kTiny, {3, 17}, precision, kScratch));
    expect_sound(gpu_model_memory(kTiny, {1, 1}, precision, kScratch));
  }
}

TEST(GpuMemory, GradientsOfQkvAndAttentionShareTheWideOne) {
  const auto memory = gpu_model_memory(kTiny, {3, 17}, kernels::TrainingPrecision::bf16, kScratch);
  EXPECT_EQ(memory.qkv_gradient.begin, memory.wide_gradient.begin);
  EXPECT_EQ(memory.qkv_gradient.bytes, 3 * 17 * 3 * 64 * 2);
  EXPECT_EQ(memory.attention_gradient.begin, memory.qkv_gradient.end());
  EXPECT_EQ(memory.attention_gradient.end(), memory.wide_gradient.end());
  // What kernels and products ask of an address, also where the batch is odd.
  EXPECT_EQ(memory.attention_gradient.begin % 16, 0);
}

// Adds up, per block, 2 matrices of the stream, 14 of activations, and a bit for each of the
// probabilities up to the diagonal, in squares of 32; the stream, the final norm's output and the
// logits once; the gradients of stream, branch and hidden channels once.
TEST(GpuMemory, IsTheSumOfItsPartsForGpt2) {
  const double matrix = 4096.0 * 768 * 4;
  const double logits = 4096.0 * 50304 * 4;
  const double flat = 124439808.0 * 4;
  const double kept = 12.0 * 4 * 12 * (32 * 33 / 2) * 32 * 4;
  const auto single =
      gpu_model_memory(kGpt2, {4, 1024}, kernels::TrainingPrecision::fp32, kScratch);
  const double single_sum = 4 * flat + kept + 12 * 16 * matrix + 2 * matrix + logits + 6 * matrix;
  // What is left is small: statistics of norms and attention, scratch, tokens.
  EXPECT_NEAR(static_cast<double>(single.total().value), single_sum, 8 * kMiB);
  const auto half = gpu_model_memory(kGpt2, {4, 1024}, kernels::TrainingPrecision::bf16, kScratch);
  const double half_sum = 4.5 * flat + kept + 12 * (2 * matrix + 7 * matrix) + 1.5 * matrix +
                          logits / 2 + matrix + 2.5 * matrix;
  EXPECT_NEAR(static_cast<double>(half.total().value), half_sum, 8 * kMiB);
  // The figures that the header states.
  EXPECT_NEAR(static_cast<double>(single.total().value), 5.0 * kGiB, 0.06 * kGiB);
  EXPECT_NEAR(static_cast<double>(half.total().value), 3.8 * kGiB, 0.06 * kGiB);
  EXPECT_EQ(gpu_model_memory(kGpt2, {4, 1024}, kernels::TrainingPrecision::tf32, kScratch).total(),
            single.total());
  const double others = kGiB + 32 * kMiB;  // CUDA's context and NCCL; products' workspace
  EXPECT_LT(static_cast<double>(single.total().value) + others, 9 * kGiB);
}

TEST(GpuMemory, FlatBuffersReachToTheEndOfThePaddedVocabulary) {
  // One block of few channels: the parameters end before the padding of the vocabulary does.
  const Gpt2Config narrow{.vocabulary = 65, .positions = 1, .channels = 1, .layers = 1, .heads = 1};
  ASSERT_LT(ParameterTable(narrow).count(), padded_vocabulary(narrow));
  for (const Gpt2Config& config : {narrow, kTiny, kGpt2}) {
    for (const auto precision :
         {kernels::TrainingPrecision::fp32, kernels::TrainingPrecision::bf16}) {
      const auto memory = gpu_model_memory(config, {1, 1}, precision, kScratch);
      const std::int64_t rows = std::int64_t{padded_vocabulary(config)} * config.channels;
      EXPECT_GE(memory.flat.value, 4 * rows);
      EXPECT_GE(memory.flat.value, 4 * ParameterTable(config).count());
      EXPECT_EQ(memory.flat.value % kSpanAlignment, 0);
      EXPECT_EQ(memory.copy.value,
                precision == kernels::TrainingPrecision::bf16 ? memory.flat.value / 2 : 0);
    }
  }
}

TEST(GpuMemory, KeepsABitForEachProbabilityUpToTheDiagonal) {
  const auto kept = [](int samples, int length) {
    const auto memory =
        gpu_model_memory(kTiny, {samples, length}, TrainingPrecision::fp32, kScratch);
    return memory.blocks.at(0).dropout_bits.bytes;
  };
  const std::int64_t square = 32 * 32 / 8;
  EXPECT_EQ(kept(1, 1), kTiny.heads * square);
  EXPECT_EQ(kept(1, 32), kTiny.heads * square);
  EXPECT_EQ(kept(1, 33), kTiny.heads * 3 * square);
  EXPECT_EQ(kept(3, 96), 3 * kTiny.heads * 6 * square);
  // A float for each query and head, a counter for every 32 of them, and one more.
  const auto memory = gpu_model_memory(kTiny, {3, 33}, TrainingPrecision::fp32, kScratch);
  EXPECT_EQ(memory.attention_scratch.bytes, 4 * (3 * kTiny.heads * (33 + 2) + 1));
}

/// Returns the scratch that kernels need: for rows of partial sums of biases' and norms' gradients,
/// or of tokens that stand in many places.
Bytes kernel_scratch(const Gpt2Config& config, const BatchShape& shape) {
  constexpr std::int64_t kPartialRows = 256;
  const std::int64_t columns = std::int64_t{config.hidden_channels()};
  const std::int64_t partials = kernels::TokenRowsLayout{shape.tokens()}.most_partials();
  return {4 * std::max(kPartialRows * columns, partials * config.channels)};
}

/// Makes a training whose ranks have this batch.
TrainingParameters training_of(ModelSize model, linkgain::TrainingPrecision precision,
                               const BatchShape& shape) {
  TrainingParameters training;
  training.model = model;
  training.precision = precision;
  training.samples = shape.samples;
  training.length = shape.length;
  return training;
}

// Compares with plans, which know nothing of spans: they must not promise memory that is not there.
TEST(GpuMemory, IsWithinWhatARunIsPlannedWith) {
  constexpr std::pair<linkgain::TrainingPrecision, TrainingPrecision> kPrecisions[] = {
      {linkgain::TrainingPrecision::fp32, TrainingPrecision::fp32},
      {linkgain::TrainingPrecision::tf32, TrainingPrecision::tf32},
      {linkgain::TrainingPrecision::bf16, TrainingPrecision::bf16}};
  for (const ModelSize model : kValues<ModelSize>) {
    const Gpt2Config config = gpt2_config(model);
    for (const int samples : {1, 4, 4096}) {
      for (const int length : {1, 17, config.positions}) {
        const BatchShape shape{samples, length};
        for (const auto& [planned, computed] : kPrecisions) {
          const TrainingParameters training = training_of(model, planned, shape);
          ASSERT_NO_THROW(validate(training));
          const Bytes taken =
              gpu_model_memory(config, shape, computed, kernel_scratch(config, shape)).total();
          EXPECT_GE(training_memory(training), taken.value)
              << leading_text(training) << ' ' << samples << " x " << length;
        }
      }
    }
  }
}

TEST(GpuMemory, HasRoomForWhatKernelsNeed) {
  for (const std::int64_t bytes : {1, 255, 1 << 20}) {
    const auto memory = gpu_model_memory(kTiny, {2, 8}, kernels::TrainingPrecision::fp32, {bytes});
    EXPECT_EQ(memory.kernel_scratch.bytes, bytes);
  }
}

}  // namespace
}  // namespace linkgain::test

#include "kernels/gpt2/attention/attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "kernels/gpt2/attention/attention_batch.hpp"
#include "linkgain/gpu/stream.hpp"
#include "reference_layers.hpp"

namespace linkgain::kernels {
namespace {

using gpu::check;
using gpu::Stream;
using test::AttentionBatch;
using test::kPrecisions;

/// Errors that a precision may have, of the largest value and of the root of the mean square.
///
/// Scores are sums of head_channels products of normal numbers, about 1 in size, and an error of a
/// score is the relative error of its probability. Where operands are rounded by up to u of their
/// size (2^-11 in TF32, 2^-8 in bfloat16) a score's error is below u on average, and the largest of
/// many about u. Probabilities and scores' gradients are rounded once more, and so are bfloat16
/// results. With these numbers and exact sums the mean is 0.5e-3 in TF32 and 2.6e-3 in bfloat16,
/// the largest 0.6e-3 and 4.3e-3. In single precision (2^-24) the sums of up to 1024 terms count:
/// 0.7e-6 and 1.0e-6.
struct Bounds {
  double largest;
  double mean;
};

Bounds bounds(TrainingPrecision precision) {
  switch (precision) {
    case TrainingPrecision::fp32:
      return {5e-6, 1.5e-6};
    case TrainingPrecision::tf32:
      return {2e-3, 1e-3};
    case TrainingPrecision::bf16:
      return {1e-2, 4e-3};
  }
  return {0.0, 0.0};
}

/// Compares queries' and keys' gradients together with the values', as those of length 1 are 0.
void expect_close(const std::vector<double>& found, const std::vector<double>& expected,
                  const Bounds& bound, const char* what) {
  ASSERT_EQ(found.size(), expected.size());
  double largest = 0.0;
  double worst = 0.0;
  double square = 0.0;
  double error_square = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_TRUE(std::isfinite(found[i])) << what << ' ' << i;
    const double error = found[i] - expected[i];
    largest = std::max(largest, std::abs(expected[i]));
    worst = std::max(worst, std::abs(error));
    square += expected[i] * expected[i];
    error_square += error * error;
  }
  EXPECT_LE(worst, bound.largest * largest) << what;
  EXPECT_LE(std::sqrt(error_square), bound.mean * std::sqrt(square)) << what;
}

/// The results in double precision, lse apart.
struct Expected {
  std::vector<double> output;
  std::vector<double> qkv_gradient;
};

Expected expected_of(const AttentionShape& shape, const AttentionDropout& dropout,
                     const std::vector<double>& qkv, const std::vector<double>& output_gradient) {
  const reference::AttentionShape sizes{shape.samples, shape.length, shape.heads,
                                        shape.head_channels};
  const reference::Dropout place{dropout.enabled ? dropout.mask : DropoutMask{{}, 0, 1.0F},
                                 dropout.first_element};
  const auto count = static_cast<std::size_t>(sizes.probabilities());
  std::vector<double> probabilities(count);
  std::vector<double> dropped(count);
  Expected expected{std::vector<double>(output_gradient.size()), std::vector<double>(qkv.size())};
  reference::attention_forward(sizes, qkv.data(), place, probabilities, dropped,
                               expected.output.data());
  reference::attention_backward(sizes, qkv.data(), place, probabilities, dropped,
                                output_gradient.data(), expected.qkv_gradient.data());
  return expected;
}

AttentionDropout dropout(double probability, std::int64_t first_element) {
  return {probability > 0.0, dropout_mask(3, 17, probability_dropout(5), probability),
          first_element};
}

class AttentionKernels : public test::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped()) stream_.emplace();
  }

  /// Says whether the device has what the precision takes.
  static bool can(TrainingPrecision precision) {
    int major = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    return precision != TrainingPrecision::bf16 || major >= 8;
  }

  /// Compares both passes, run twice with the same bits, with the reference.
  void expect_reference(TrainingPrecision precision, const AttentionShape& shape,
                        const AttentionDropout& with) const {
    SCOPED_TRACE(test::text_of(precision) + " length " + std::to_string(shape.length) +
                 " head channels " + std::to_string(shape.head_channels) + " dropout scale " +
                 std::to_string(with.enabled ? with.mask.scale : 1.0F) + " first element " +
                 std::to_string(with.first_element));
    const AttentionBatch batch(precision, shape);
    const auto qkv = test::normal_numbers(precision, 3 * batch.outputs(), 1, 1.0);
    const auto gradient = test::normal_numbers(precision, batch.outputs(), 2, 1.0);
    batch.qkv.write(qkv);
    batch.output_gradient.write(gradient);
    run(batch, with);
    const Expected expected = expected_of(shape, with, qkv, gradient);
    expect_close(batch.output.values(), expected.output, bounds(precision), "output");
    expect_close(batch.qkv_gradient.values(), expected.qkv_gradient, bounds(precision), "gradient");
    expect_lse(batch, qkv);
    batch.expect_guards();
    const auto output = batch.output.bits();
    const auto qkv_gradient = batch.qkv_gradient.bits();
    run(batch, with);
    EXPECT_EQ(batch.output.bits(), output);
    EXPECT_EQ(batch.qkv_gradient.bits(), qkv_gradient);
  }

  void run(const AttentionBatch& batch, const AttentionDropout& with) const {
    batch.poison_results();
    check(batch.forward(with, stream()));
    check(batch.backward(with, stream()));
    stream().synchronize();
  }

  /// Compares each sequence's last query, whose sum has the most terms.
  void expect_lse(const AttentionBatch& batch, const std::vector<double>& qkv) const {
    const auto found = batch.lse.values();
    const AttentionShape& shape = batch.shape;
    const int channels = shape.heads * shape.head_channels;
    const auto at = [&](int sample, int row, int column) {
      return qkv[(static_cast<std::size_t>(sample) * static_cast<std::size_t>(shape.length) +
                  static_cast<std::size_t>(row)) *
                     static_cast<std::size_t>(3 * channels) +
                 static_cast<std::size_t>(column)];
    };
    for (int sequence = 0; sequence < shape.samples * shape.heads; ++sequence) {
      const int first = sequence % shape.heads * shape.head_channels;
      double sum = 0.0;
      for (int key = 0; key < shape.length; ++key) {
        double score = 0.0;
        for (int i = first; i < first + shape.head_channels; ++i) {
          score += at(sequence / shape.heads, shape.length - 1, i) *
                   at(sequence / shape.heads, key, channels + i);
        }
        sum += std::exp(score / std::sqrt(static_cast<double>(shape.head_channels)));
      }
      const double lse =
          found[static_cast<std::size_t>(sequence + 1) * static_cast<std::size_t>(shape.length) -
                1];
      EXPECT_NEAR(lse, std::log(sum), 3.0 * bounds(batch.precision).largest);
    }
  }

  const Stream& stream() const { return *stream_; }

 private:
  std::optional<Stream> stream_;
};

TEST_F(AttentionKernels, GiveWhatTheReferenceGives) {
  for (const TrainingPrecision precision : kPrecisions) {
    if (!can(precision)) continue;
    for (const int head_channels : {32, 64}) {
      for (const int length : {1, 31, 32, 64, 100, 256, 1024}) {
        const AttentionShape shape{length > 256 ? 1 : 2, length, length > 100 ? 2 : 3,
                                   head_channels};
        for (const double probability : {0.0, 0.1, 0.5}) {
          expect_reference(precision, shape, dropout(probability, 0));
        }
      }
    }
  }
}

/// Takes first elements of a query that are multiples of 4, and others.
TEST_F(AttentionKernels, NumberProbabilitiesFromAnyFirstElement) {
  constexpr std::int64_t kFar = std::int64_t{3} << 33;
  for (const TrainingPrecision precision : kPrecisions) {
    if (!can(precision)) continue;
    for (const std::int64_t first : {std::int64_t{4}, std::int64_t{1}, kFar, kFar + 3}) {
      expect_reference(precision, {2, 100, 2, 64}, dropout(0.1, first));
      expect_reference(precision, {2, 100, 2, 32}, dropout(0.1, first));
    }
    expect_reference(precision, {1, 131, 2, 64}, dropout(0.1, 8));
  }
}

TEST_F(AttentionKernels, TakeTheShapesOfGpt2AndTiny) {
  for (const TrainingPrecision precision : kPrecisions) {
    if (!can(precision)) continue;
    expect_reference(precision, {4, 32, 2, 32}, dropout(0.1, 0));
    expect_reference(precision, {1, 1024, 12, 64}, dropout(0.1, 0));
  }
}

/// Takes scores whose exp() is beyond float; each query has one key that matters.
TEST_F(AttentionKernels, StayFiniteWithLargeScores) {
  for (const TrainingPrecision precision : kPrecisions) {
    if (!can(precision)) continue;
    const AttentionBatch batch(precision, {1, 200, 2, 64});
    const auto qkv = test::normal_numbers(precision, 3 * batch.outputs(), 1, 20.0);
    const auto gradient = test::normal_numbers(precision, batch.outputs(), 2, 1.0);
    batch.qkv.write(qkv);
    batch.output_gradient.write(gradient);
    run(batch, dropout(0.0, 0));
    for (const double number : batch.output.values()) ASSERT_TRUE(std::isfinite(number));
    for (const double number : batch.qkv_gradient.values()) {
      ASSERT_TRUE(std::isfinite(number));
    }
    if (precision != TrainingPrecision::fp32) continue;
    // Scores of 2000 have errors of some 1e-4, and so have their probabilities.
    const Expected expected = expected_of(batch.shape, dropout(0.0, 0), qkv, gradient);
    expect_close(batch.output.values(), expected.output, {1e-3, 1e-3}, "output");
  }
}

TEST_F(AttentionKernels, RefuseOtherShapesAndAddresses) {
  const AttentionBatch batch(TrainingPrecision::fp32, {1, 32, 1, 64});
  const auto forward = [&](const AttentionShape& shape, int beyond) {
    return attention_forward(TrainingPrecision::fp32, shape,
                             static_cast<char*>(batch.qkv.data()) + beyond, dropout(0.0, 0),
                             batch.output.data(), batch.lse.floats(), nullptr, stream().get());
  };
  EXPECT_EQ(forward({0, 32, 1, 64}, 0), cudaErrorInvalidValue);
  EXPECT_EQ(forward({1, 0, 1, 64}, 0), cudaErrorInvalidValue);
  EXPECT_EQ(forward({1, 32, -1, 64}, 0), cudaErrorInvalidValue);
  EXPECT_EQ(forward({1, 32, 1, 48}, 0), cudaErrorInvalidValue);
  EXPECT_EQ(forward({1 << 16, 32, 1 << 16, 64}, 0), cudaErrorInvalidValue);
  EXPECT_EQ(forward({1, 32, 1, 64}, 4), cudaErrorInvalidValue);
  EXPECT_EQ(
      attention_forward(TrainingPrecision::fp32, batch.shape, batch.qkv.data(), dropout(0.1, 0),
                        batch.output.data(), batch.lse.floats(), nullptr, stream().get()),
      cudaErrorInvalidValue);
  EXPECT_EQ(batch.forward(dropout(0.1, -4), stream()), cudaErrorInvalidValue);
  EXPECT_EQ(batch.backward(dropout(0.1, -4), stream()), cudaErrorInvalidValue);
  EXPECT_EQ(attention_backward(TrainingPrecision::fp32, batch.shape, batch.qkv.data(),
                               batch.output.data(), nullptr, nullptr, nullptr, dropout(0.0, 0),
                               nullptr, batch.qkv_gradient.data(), {}, stream().get()),
            cudaErrorInvalidValue);
}

/// Launches nothing but the kernel that makes all gradients at once. Its only block waits until a
/// counter is 0, which the kernel before it would have seen to.
TEST_F(AttentionKernels, GiveUpABlockWhoseTurnDoesNotCome) {
  constexpr int kSharedBytes = 97 << 10;
  int shared_bytes = 0;
  check(cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  if (shared_bytes < kSharedBytes)
    GTEST_SKIP() << "too little shared memory for all gradients at once";
  const gpu::PinnedBuffer memory(Bytes{sizeof(WaitReport)});
  auto* const report = static_cast<WaitReport*>(memory.data());
  *report = {};
  const WaitBound bound{report, 200'000'000};
  const AttentionBatch batch(TrainingPrecision::fp32, {1, kOrderedQueries, 1, 64});
  check(batch.backward(dropout(0.0, 0), stream(), bound));
  stream().synchronize();
  EXPECT_EQ(report->phase, WaitPhase::none);

  check(cudaStreamBeginCapture(stream().get(), cudaStreamCaptureModeThreadLocal));
  const cudaError_t captured = batch.backward(dropout(0.0, 0), stream(), bound);
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(stream().get(), &graph));
  const gpu::Graph pass(graph);
  check(captured);
  cudaGraphNode_t first = nullptr;
  std::size_t count = 1;
  check(cudaGraphGetRootNodes(graph, &first, &count));
  check(cudaGraphDestroyNode(first));
  const gpu::GraphExecutable gradients(pass);
  // A number per query, the tile's counter, and how many blocks have started.
  std::vector<double> scratch(kOrderedQueries + 2, 1.0);
  scratch.back() = 0.0;
  batch.scratch.write(scratch);
  const auto start = std::chrono::steady_clock::now();
  gradients.launch(stream());
  stream().synchronize();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  EXPECT_GT(time.count(), 0.19);
  EXPECT_LT(time.count(), 1.5);
  EXPECT_EQ(report->phase, WaitPhase::turn);
  EXPECT_EQ(report->block, 0);
  EXPECT_EQ(report->expected, 0U);
  EXPECT_EQ(report->seen, std::bit_cast<std::uint32_t>(1.0F));
}

}  // namespace
}  // namespace linkgain::kernels

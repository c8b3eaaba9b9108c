#include <cstdio>
#include <exception>
#include <functional>

#include "kernels/gpt2/attention/attention_batch.hpp"
#include "linkgain/gpu/stream.hpp"

/// Prints what attention of one layer of GPT-2 124M takes, four samples of 1024 tokens. Rates count
/// the causal half of the products, two of them forward and five backward.
namespace linkgain::test {
namespace {

constexpr AttentionShape kGpt2{4, 1024, 12, 64};
constexpr int kWarmUps = 5;
constexpr int kRepetitions = 50;

double teraflop_per_product() {
  return static_cast<double>(kGpt2.samples) * kGpt2.heads * kGpt2.length * (kGpt2.length + 1.0) *
         kGpt2.head_channels / 1e12;
}

double microseconds_of(const gpu::Stream& stream, const std::function<cudaError_t()>& pass) {
  gpu::Event start;
  gpu::Event stop;
  for (int i = 0; i < kWarmUps; ++i) gpu::check(pass());
  start.record(stream);
  for (int i = 0; i < kRepetitions; ++i) gpu::check(pass());
  stop.record(stream);
  stop.synchronize();
  return gpu::elapsed(start, stop).value * 1e6 / kRepetitions;
}

void time(TrainingPrecision precision, double probability) {
  const gpu::Stream stream;
  const AttentionBatch batch(precision, kGpt2);
  batch.qkv.write(normal_numbers(precision, 3 * batch.outputs(), 1, 1.0));
  batch.output_gradient.write(normal_numbers(precision, batch.outputs(), 2, 1.0));
  const AttentionDropout dropout{probability > 0.0, kernels::dropout_mask(1, 0, 1, probability), 0};
  const double forward = microseconds_of(stream, [&] { return batch.forward(dropout, stream); });
  const double backward = microseconds_of(stream, [&] { return batch.backward(dropout, stream); });
  std::printf("%s dropout %.1f: forward %.1f us, backward %.1f us, %.1f and %.1f TFLOP/s\n",
              text_of(precision).c_str(), probability, forward, backward,
              2.0 * teraflop_per_product() / forward * 1e6,
              5.0 * teraflop_per_product() / backward * 1e6);
}

}  // namespace
}  // namespace linkgain::test

int main() {
  using namespace linkgain::test;
  try {
    for (const TrainingPrecision precision : kPrecisions) {
      time(precision, 0.0);
      time(precision, 0.1);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}

#include "kernels/common/device_attribute.hpp"
#include "kernels/common/pdl.cuh"
#include "kernels/gpt2/activation_vectors.cuh"
#include "kernels/gpt2/cross_entropy.hpp"

namespace linkgain::kernels {
namespace {

constexpr int kMostThreads = 1024;
constexpr float kLog2E = 1.442695040888963407F;
constexpr double kLn2 = 0.693147180559945309;

/// The sum of 2^(logit * log2 e - top) over some logits, `top` the largest of these exponents: what
/// a softmax needs, added to in one pass. M. Milakov and N. Gimelshein, "Online normalizer
/// calculation for softmax", 2018.
struct ExponentSum {
  // Below every logit, but not so far that differences are not finite.
  float top = -1e30F;
  float sum = 0.0F;

  template <int kElements>
  __device__ void add(const float (&logits)[kElements]) {
    float largest = logits[0];
#pragma unroll
    for (int e = 1; e < kElements; ++e) largest = fmaxf(largest, logits[e]);
    const float above = fmaxf(top, largest * kLog2E);
    sum *= fast_exp2(top - above);
    top = above;
#pragma unroll
    for (int e = 0; e < kElements; ++e) sum += fast_exp2(fmaf(logits[e], kLog2E, -top));
  }

  /// Merges with another sum, with the same bits whichever of the two is whose.
  __device__ void merge(const ExponentSum& other) {
    const float above = fmaxf(top, other.top);
    const float own = __fmul_rn(sum, fast_exp2(top - above));
    sum = __fadd_rn(own, __fmul_rn(other.sum, fast_exp2(other.top - above)));
    top = above;
  }

  __device__ void merge_warp() {
#pragma unroll
    for (int distance = kWarpThreads / 2; distance > 0; distance /= 2) {
      merge(
          {__shfl_xor_sync(kWholeWarp, top, distance), __shfl_xor_sync(kWholeWarp, sum, distance)});
    }
  }

  /// Merges over a block of whole warps, in every thread with the same bits.
  __device__ void merge_block() {
    __shared__ float tops[kMostThreads / kWarpThreads];
    __shared__ float sums[kMostThreads / kWarpThreads];
    const int lane = static_cast<int>(threadIdx.x) % kWarpThreads;
    const int warp = static_cast<int>(threadIdx.x) / kWarpThreads;
    merge_warp();
    if (lane == 0) {
      tops[warp] = top;
      sums[warp] = sum;
    }
    __syncthreads();
    *this = {};
    if (lane < static_cast<int>(blockDim.x) / kWarpThreads) {
      top = tops[lane];
      sum = sums[lane];
    }
    merge_warp();
  }
};

/// Sets the padding's elements of vector i of a row to -inf.
template <typename T>
__device__ void mask_padding(uint4& vector, int i, int vocabulary) {
  constexpr int kElements = kVectorElements<T>;
  const int valid = vocabulary - i * kElements;
  if (valid >= kElements) return;
  float values[kElements];
  unpack(vector, values);
#pragma unroll
  for (int e = 0; e < kElements; ++e) {
    if (e >= valid) values[e] = __uint_as_float(0xff800000U);
  }
  vector = packed(values);
}

/// Vectors that each thread has in flight.
constexpr int kInFlight = 4;

/// Computes one row in each block. Where kKeeps the row stays in shared memory between the sum and
/// the gradient; a thread only ever touches its own vectors.
template <typename T, bool kKeeps>
__global__ void __launch_bounds__(kMostThreads)
    differentiate_rows(LossShape shape, const std::int32_t* targets, float gradient_scale,
                       T* logits, float* row_losses) {
  constexpr int kElements = kVectorElements<T>;
  extern __shared__ uint4 kept[];
  pdl_trigger();
  T* elements = logits + static_cast<std::int64_t>(blockIdx.x) * shape.padded;
  auto* row = reinterpret_cast<uint4*>(elements);
  const int vectors = shape.padded / kElements;
  const int threads = static_cast<int>(blockDim.x);
  const int target = targets[blockIdx.x];
  const float target_logit = static_cast<float>(elements[target]);
  ExponentSum total;
  for (int start = static_cast<int>(threadIdx.x); start < vectors; start += kInFlight * threads) {
    uint4 data[kInFlight];
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const int i = start + k * threads;
      if (i < vectors) data[k] = row[i];
    }
#pragma unroll
    for (int k = 0; k < kInFlight; ++k) {
      const int i = start + k * threads;
      if (i >= vectors) break;
      mask_padding<T>(data[k], i, shape.vocabulary);
      if constexpr (kKeeps) kept[i] = data[k];
      float values[kElements];
      unpack(data[k], values);
      total.add(values);
    }
  }
  total.merge_block();  // from here on nobody reads the target's logit
  if (threadIdx.x == 0) {
    const float lse = static_cast<float>(
        kLn2 * (static_cast<double>(total.top) + static_cast<double>(log2f(total.sum))));
    row_losses[blockIdx.x] = lse - target_logit;
  }
  const float factor = gradient_scale / total.sum;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x); i < vectors; i += threads) {
    uint4 vector = kKeeps ? kept[i] : row[i];
    if constexpr (!kKeeps) mask_padding<T>(vector, i, shape.vocabulary);
    float values[kElements];
    unpack(vector, values);
#pragma unroll
    for (int e = 0; e < kElements; ++e) {
      values[e] = factor * fast_exp2(fmaf(values[e], kLog2E, -total.top));
    }
    if (i == target / kElements) {
#pragma unroll
      for (int e = 0; e < kElements; ++e) {
        if (i * kElements + e == target) values[e] -= gradient_scale;
      }
    }
    row[i] = packed(values);
  }
}

/// Averages by one block, after all rows are done.
__global__ void __launch_bounds__(kMostThreads)
    average(const float* values, std::int64_t count, float* mean) {
  __shared__ double sums[kWarpThreads];
  pdl_wait();
  double sum = 0.0;
#pragma unroll 4
  for (std::int64_t i = threadIdx.x; i < count; i += kMostThreads) {
    sum += static_cast<double>(values[i]);
  }
  sum = warp_sum(sum);
  if (threadIdx.x % kWarpThreads == 0) sums[threadIdx.x / kWarpThreads] = sum;
  __syncthreads();
  if (threadIdx.x >= kWarpThreads) return;
  sum = warp_sum(sums[threadIdx.x]);
  if (threadIdx.x == 0) *mean = static_cast<float>(sum / static_cast<double>(count));
}

struct SharedMemory {
  int of_block;
  int of_multiprocessor;
};

cudaError_t find_shared_memory(SharedMemory* memory) {
  const cudaError_t status =
      device_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &memory->of_block);
  if (status != cudaSuccess) return status;
  return device_attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, &memory->of_multiprocessor);
}

template <typename T>
cudaError_t launch_rows(const LossShape& shape, const std::int32_t* targets, float gradient_scale,
                        T* logits, float* row_losses, cudaStream_t stream) {
  constexpr std::int64_t kOther = 2048;  // of shared memory: the block's sums, the system's part
  SharedMemory memory{};
  cudaError_t status = find_shared_memory(&memory);
  if (status != cudaSuccess) return status;
  const std::int64_t row_bytes = shape.padded * static_cast<std::int64_t>(sizeof(T));
  const auto blocks = static_cast<unsigned>(shape.rows);
  if (row_bytes + kOther > memory.of_block) {
    differentiate_rows<T, false><<<blocks, kMostThreads / 2, 0, stream>>>(
        shape, targets, gradient_scale, logits, row_losses);
    return cudaGetLastError();
  }
  // With two rows at once on a multiprocessor one is read while the other is written.
  const bool two_fit = 2 * (row_bytes + kOther) <= memory.of_multiprocessor;
  const auto threads = static_cast<unsigned>(two_fit ? kMostThreads / 2 : kMostThreads);
  const auto kernel = differentiate_rows<T, true>;
  status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                static_cast<int>(row_bytes));
  if (status != cudaSuccess) return status;
  kernel<<<blocks, threads, static_cast<std::size_t>(row_bytes), stream>>>(
      shape, targets, gradient_scale, logits, row_losses);
  return cudaGetLastError();
}

}  // namespace

cudaError_t token_loss(ElementType type, const LossShape& shape, const std::int32_t* targets,
                       float gradient_scale, void* logits, float* row_losses, float* mean_loss,
                       cudaStream_t stream) {
  if (shape.rows < 1 || shape.rows > INT32_MAX || shape.vocabulary < 1 || shape.padded % 8 != 0 ||
      shape.padded < shape.vocabulary || !are_aligned(logits)) {
    return cudaErrorInvalidValue;
  }
  const cudaError_t status = with_activation(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return launch_rows(shape, targets, gradient_scale, static_cast<T*>(logits), row_losses, stream);
  });
  if (status != cudaSuccess) return status;
  return launch_pdl(average, 1U, static_cast<unsigned>(kMostThreads), stream, row_losses,
                    shape.rows, mean_loss);
}

}  // namespace linkgain::kernels

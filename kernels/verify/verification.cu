#include <type_traits>

#include "kernels/common/element.cuh"
#include "kernels/common/packs.cuh"
#include "kernels/verify/verification.hpp"

namespace linkgain::kernels {
namespace {

// What an element should be is computed by calls: inlined into the kernels of twelve types it takes
// eight times as long to compile, and checks are not timed.

/// Expects the reduction over all ranks.
struct ReductionSource {
  Pattern pattern;

  __device__ __noinline__ std::int64_t integer(std::int64_t index) const {
    return expected_integer(pattern, index);
  }
  template <typename Real>
  __device__ __noinline__ Real real(std::int64_t index) const {
    return expected_real<Real>(pattern, index);
  }
  __device__ double relative_error() const { return pattern.relative_error; }
};

/// Expects what one rank put in.
struct InputSource {
  Pattern pattern;
  int rank;

  __device__ __noinline__ std::int64_t integer(std::int64_t index) const {
    return input_value(pattern.seed, rank, index, pattern.range);
  }
  template <typename Real>
  __device__ Real real(std::int64_t index) const {
    return static_cast<Real>(integer(index));
  }
  __device__ double relative_error() const { return 0.0; }
};

/// One element compared. Wrong ones have an error above 0.
struct Finding {
  bool wrong;
  double got;
  double expected;
  double error;
};

template <typename T>
__device__ Finding compare_integers(T got, T expected) {
  if (got == expected) return {false, 0.0, 0.0, 0.0};
  // Modulo 2^64 the difference is right also where the signed one would overflow.
  const auto high = static_cast<unsigned long long>(got > expected ? got : expected);
  const auto low = static_cast<unsigned long long>(got > expected ? expected : got);
  return {true, static_cast<double>(got), static_cast<double>(expected),
          static_cast<double>(high - low)};
}

template <typename Real>
__device__ Finding compare_reals(Real got, Real expected, double relative_error) {
  if (got == expected) return {false, 0.0, 0.0, 0.0};
  const bool right = matches(got, expected, static_cast<Real>(relative_error));
  const double distance = fabs(static_cast<double>(got) - static_cast<double>(expected));
  return {!right, static_cast<double>(got), static_cast<double>(expected),
          isnan(distance) ? static_cast<double>(INFINITY) : distance};
}

template <typename T, typename Source>
__device__ Finding compare(T got, std::int64_t index, const Source& source) {
  if constexpr (std::is_integral_v<T>) {
    return compare_integers(got, static_cast<T>(source.integer(index)));
  } else {
    // Every type narrower than float64, and what it should hold, is exact in float32.
    using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
    return compare_reals(static_cast<Real>(got), source.template real<Real>(index),
                         source.relative_error());
  }
}

/// One thread's findings.
struct Tally {
  unsigned long long wrong = 0;
  unsigned long long first = kNoIndex;
  double largest_error = 0.0;

  __device__ void add(const Finding& finding, std::int64_t index) {
    if (!(finding.error > 0.0)) return;
    largest_error = fmax(largest_error, finding.error);
    if (!finding.wrong) return;
    ++wrong;
    const auto here = static_cast<unsigned long long>(index);
    first = here < first ? here : first;
  }

  /// Adds to what the other threads found. Doubles that are not negative order as their bits do.
  __device__ void publish(CheckResult* result) const {
    if (wrong > 0) {
      atomicAdd(&result->wrong, wrong);
      atomicMin(&result->first_wrong_index, first);
    }
    if (largest_error > 0.0) {
      atomicMax(reinterpret_cast<unsigned long long*>(&result->largest_error),
                static_cast<unsigned long long>(__double_as_longlong(largest_error)));
    }
  }
};

__global__ void clear_kernel(CheckResult* result) { *result = CheckResult{}; }

template <typename T>
__global__ void __launch_bounds__(kThreadsPerBlock)
    fill_kernel(T* buffer, Split split, std::int64_t first_index, InputSource source) {
  const auto element = [&](std::int64_t position) {
    const auto value = static_cast<std::int32_t>(source.integer(first_index + position));
    using Exact = std::conditional_t<std::is_integral_v<T>, std::int32_t,
                                     std::conditional_t<std::is_same_v<T, double>, double, float>>;
    return static_cast<T>(static_cast<Exact>(value));
  };
  auto* packs = reinterpret_cast<Pack<T>*>(buffer + split.head);
  walk<T>(
      split,
      [&](std::int64_t number, std::int64_t position) {
        Pack<T> pack;
#pragma unroll
        for (int k = 0; k < kPackElements<T>; ++k) pack.elements[k] = element(position + k);
        packs[number] = pack;
      },
      [&](std::int64_t position) { buffer[position] = element(position); });
}

/// Phases: every thread compares its elements; then, only where something differs, one round of
/// relaxed atomics per thread. The kernel's end makes the result visible to record_first_kernel.
template <typename T, typename Source>
__global__ void __launch_bounds__(kThreadsPerBlock)
    check_kernel(const T* data, Split split, std::int64_t first_index, Source source,
                 CheckResult* result) {
  Tally tally;
  const auto check = [&](T got, std::int64_t index) {
    tally.add(compare(got, index, source), index);
  };
  const auto* packs = reinterpret_cast<const Pack<T>*>(data + split.head);
  walk<T>(
      split,
      [&](std::int64_t number, std::int64_t position) {
        const Pack<T> pack = packs[number];
#pragma unroll
        for (int k = 0; k < kPackElements<T>; ++k) {
          check(pack.elements[k], first_index + position + k);
        }
      },
      [&](std::int64_t position) { check(data[position], first_index + position); });
  tally.publish(result);
}

/// Looks again at the smallest wrong index by one thread, after check_kernel, so that what is kept
/// of it belongs together. An index that an earlier check of another buffer left is not wrong here.
template <typename T, typename Source>
__global__ void record_first_kernel(const T* data, std::int64_t count, std::int64_t first_index,
                                    Source source, CheckResult* result) {
  if (result->first_wrong_index == kNoIndex) return;
  const auto index = static_cast<std::int64_t>(result->first_wrong_index);
  if (index < first_index || index - first_index >= count) return;
  const Finding finding = compare(data[index - first_index], index, source);
  if (!finding.wrong) return;
  result->first_got = finding.got;
  result->first_expected = finding.expected;
}

bool valid(const void* buffer, std::int64_t count, std::int64_t first_index,
           const Pattern& pattern) {
  return (buffer != nullptr || count == 0) && count >= 0 && first_index >= 0 &&
         pattern.ranks >= 1 && pattern.range.ranks == pattern.ranks;
}

bool valid_rank(int rank, const Pattern& pattern) { return rank >= 0 && rank < pattern.ranks; }

template <typename T, typename Source>
cudaError_t launch_check(const T* data, std::int64_t count, std::int64_t first_index,
                         const Source& source, CheckResult* result, cudaStream_t stream) {
  const Split parts = split<T>(data, count);
  unsigned blocks = 0;
  cudaError_t status = choose_blocks(parts, &blocks);
  if (status != cudaSuccess) return status;
  check_kernel<<<blocks, kThreadsPerBlock, 0, stream>>>(data, parts, first_index, source, result);
  status = cudaGetLastError();
  if (status != cudaSuccess) return status;
  record_first_kernel<<<1, 1, 0, stream>>>(data, count, first_index, source, result);
  return cudaGetLastError();
}

template <typename Source>
cudaError_t check(const void* output, std::int64_t count, std::int64_t first_index,
                  const Source& source, CheckResult* result, cudaStream_t stream) {
  if (!valid(output, count, first_index, source.pattern) || result == nullptr) {
    return cudaErrorInvalidValue;
  }
  if (count == 0) return cudaSuccess;
  return with_type(source.pattern.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return launch_check(static_cast<const T*>(output), count, first_index, source, result, stream);
  });
}

}  // namespace

cudaError_t clear_result(CheckResult* device_result, cudaStream_t stream) {
  if (device_result == nullptr) return cudaErrorInvalidValue;
  clear_kernel<<<1, 1, 0, stream>>>(device_result);
  return cudaGetLastError();
}

cudaError_t fill_input(void* buffer, std::int64_t count, std::int64_t first_index,
                       const Pattern& pattern, int rank, cudaStream_t stream) {
  if (!valid(buffer, count, first_index, pattern) || !valid_rank(rank, pattern)) {
    return cudaErrorInvalidValue;
  }
  if (count == 0) return cudaSuccess;
  return with_type(pattern.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Split parts = split<T>(buffer, count);
    unsigned blocks = 0;
    const cudaError_t status = choose_blocks(parts, &blocks);
    if (status != cudaSuccess) return status;
    fill_kernel<<<blocks, kThreadsPerBlock, 0, stream>>>(static_cast<T*>(buffer), parts,
                                                         first_index, InputSource{pattern, rank});
    return cudaGetLastError();
  });
}

cudaError_t check_reduction(const void* output, std::int64_t count, std::int64_t first_index,
                            const Pattern& pattern, CheckResult* device_result,
                            cudaStream_t stream) {
  return check(output, count, first_index, ReductionSource{pattern}, device_result, stream);
}

cudaError_t check_input(const void* output, std::int64_t count, std::int64_t first_index,
                        const Pattern& pattern, int source_rank, CheckResult* device_result,
                        cudaStream_t stream) {
  if (!valid_rank(source_rank, pattern)) return cudaErrorInvalidValue;
  return check(output, count, first_index, InputSource{pattern, source_rank}, device_result,
               stream);
}

}  // namespace linkgain::kernels

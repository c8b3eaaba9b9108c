#include "device_check.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/verify/verification.hpp"
#include "linkgain/gpu/buffer.hpp"
#include "linkgain/gpu/errors.hpp"

namespace linkgain {
namespace {

cudaError_t check_part(const void* output, const kernels::Pattern& pattern,
                       const ExpectedPart& part, kernels::CheckResult* result,
                       cudaStream_t stream) {
  const std::int64_t offset = part.begin * kernels::traits_of(pattern.type).bytes;
  const void* begin = static_cast<const char*>(output) + offset;
  if (part.source == kReduced) {
    return kernels::check_reduction(begin, part.count, part.first_index, pattern, result, stream);
  }
  return kernels::check_input(begin, part.count, part.first_index, pattern, part.source, result,
                              stream);
}

void add(Verification& total, const kernels::CheckResult& found, const ExpectedPart& part) {
  total.wrong += static_cast<std::int64_t>(found.wrong);
  total.largest_error = std::max(total.largest_error, found.largest_error);
  if (found.wrong == 0 || !total.first_wrong.empty()) return;
  const std::int64_t in_part =
      static_cast<std::int64_t>(found.first_wrong_index) - part.first_index;
  total.first_wrong = fmt::format("element {}: {} instead of {}", part.begin + in_part,
                                  found.first_got, found.first_expected);
}

}  // namespace

Verification check_on_device(const std::vector<const void*>& outputs,
                             const kernels::Pattern& pattern,
                             const std::vector<ExpectedPart>& parts, const gpu::Stream& stream) {
  // One result for each part: indices of different parts must not be mixed up.
  std::vector<kernels::CheckResult> found(parts.size());
  const std::size_t bytes = found.size() * sizeof(kernels::CheckResult);
  const gpu::DeviceBuffer memory(Bytes{static_cast<std::int64_t>(bytes)});
  auto* results = static_cast<kernels::CheckResult*>(memory.data());
  Verification total;
  total.bound = pattern.relative_error;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    gpu::check(kernels::clear_result(results + i, stream.get()));
    for (const void* output : outputs) {
      gpu::check(check_part(output, pattern, parts[i], results + i, stream.get()));
      total.checked += parts[i].count;
    }
  }
  if (parts.empty()) return total;
  gpu::check(cudaMemcpyAsync(found.data(), results, bytes, cudaMemcpyDeviceToHost, stream.get()));
  stream.synchronize();
  for (std::size_t i = 0; i < parts.size(); ++i) add(total, found[i], parts[i]);
  return total;
}

}  // namespace linkgain

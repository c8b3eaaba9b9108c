#include <algorithm>
#include <type_traits>

#include "kernels/all_reduce/all_reduce.hpp"
#include "kernels/all_reduce/arguments.hpp"
#include "kernels/all_reduce/blocks.hpp"
#include "kernels/all_reduce/one_shot.cuh"
#include "kernels/all_reduce/ring.cuh"
#include "kernels/all_reduce/two_shot.cuh"
#include "kernels/common/device_attribute.hpp"
#include "kernels/common/element_types.cuh"
#include "kernels/common/pdl.cuh"
#include "kernels/peer/packet.cuh"

namespace linkgain::kernels {
namespace {

using Arguments = AllReduceArguments;

/// No more threads than there are items for, in whole warps.
int threads_for(std::int64_t items, int blocks) {
  constexpr int kWarp = 32;
  const std::int64_t each = divide_up(items, blocks);
  return static_cast<int>(
      std::min<std::int64_t>(kAllReduceThreads, divide_up(each, kWarp) * kWarp));
}

/// How many blocks of full size run at once on the current device; all of a machine's are taken for
/// alike. 0 where that cannot be told.
template <typename Kernel>
int blocks_at_once(Kernel kernel) {
  int each = 0;
  int multiprocessors = 0;
  if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, kAllReduceThreads, 0) !=
          cudaSuccess ||
      device_attribute(cudaDevAttrMultiProcessorCount, &multiprocessors) != cudaSuccess) {
    return 0;
  }
  return each * multiprocessors;
}

/// Blocks that wait for each other's counterparts must all run, whichever the devices begin with.
template <auto kKernel>
cudaError_t launch_at_once(int blocks, int threads, cudaStream_t stream,
                           const Arguments& arguments) {
  static const int most = blocks_at_once(kKernel);
  if (blocks > most) return cudaErrorCooperativeLaunchTooLarge;
  return launch_early(kKernel, blocks, threads, stream, arguments);
}

template <typename T, int kRanks>
cudaError_t launch(AllReduceMethod method, const Arguments& arguments, int blocks,
                   cudaStream_t stream) {
  const std::int64_t items = arguments.items;
  switch (method) {
    case AllReduceMethod::low_latency:
      return launch_at_once<low_latency<T, kRanks>>(blocks, threads_for(items, blocks), stream,
                                                    arguments);
    case AllReduceMethod::low_latency_wide:
      if constexpr (!kHasWholeVectors) return cudaErrorNotSupported;
      return launch_at_once<low_latency_wide<T, kRanks>>(
          blocks, threads_for(divide_up(items, kTriple), blocks), stream, arguments);
    case AllReduceMethod::one_shot:
      return launch_at_once<one_shot<T, kRanks>>(blocks, kAllReduceThreads, stream, arguments);
    case AllReduceMethod::two_shot:
      return launch_at_once<two_shot<T, kRanks>>(blocks, kAllReduceThreads, stream, arguments);
    case AllReduceMethod::ring:
      if constexpr (std::is_same_v<T, float>) {
        return launch_at_once<ring<kRanks>>(blocks, kAllReduceThreads, stream, arguments);
      }
      break;
    case AllReduceMethod::relayed_two_shot:
      return launch_at_once<relayed_two_shot<T, kRanks>>(blocks, kAllReduceThreads, stream,
                                                         arguments);
  }
  return cudaErrorInvalidValue;
}

template <typename T, int kRanks = 2>
cudaError_t launch_for_ranks(AllReduceMethod method, const Arguments& arguments, int blocks,
                             cudaStream_t stream) {
  if (arguments.regions.ranks == kRanks)
    return launch<T, kRanks>(method, arguments, blocks, stream);
  if constexpr (kRanks < kMostRanks) {
    return launch_for_ranks<T, kRanks + 1>(method, arguments, blocks, stream);
  }
  return cudaErrorInvalidValue;
}

/// A block waits for data then, not for its counterparts: with none it would keep no step.
bool has_flags_in_data(AllReduceMethod method) {
  return method == AllReduceMethod::low_latency || method == AllReduceMethod::low_latency_wide;
}

std::int64_t item_bytes(AllReduceMethod method) {
  return method == AllReduceMethod::low_latency ? 8 : 16;
}

}  // namespace

std::int64_t all_reduce_scratch(AllReduceMethod method, std::int64_t bytes, int ranks) {
  constexpr std::int64_t kVectorBytes = 16;  // an item's with its flags, too
  const std::int64_t items = divide_up(bytes, item_bytes(method));
  const std::int64_t share = whole_lines(divide_up(items, ranks));
  std::int64_t places = ranks * whole_lines(items);
  if (method == AllReduceMethod::low_latency_wide) {
    places = ranks * kPackets * whole_lines(divide_up(items, kTriple));
  }
  if (method == AllReduceMethod::two_shot || method == AllReduceMethod::ring) {
    places = ranks * share;
  }
  if (method == AllReduceMethod::relayed_two_shot) places = (ranks + 1) * share;
  return kControlBytes + kBufferSets * places * kVectorBytes;
}

bool has_all_reduce(ElementType type) {
  return type == ElementType::float32 || type == ElementType::float16 ||
         type == ElementType::bfloat16;
}

cudaError_t all_reduce(AllReduceMethod method, const PeerRegions& regions,
                       const AllReduceOffsets& offsets, ElementType type, std::int64_t elements,
                       std::int64_t most_elements, int blocks, cudaStream_t stream) {
  if (!has_all_reduce(type) || elements < 1 || most_elements < elements || blocks < 1 ||
      blocks > kMostAllReduceBlocks || regions.rank < 0 || regions.rank >= regions.ranks) {
    return cudaErrorInvalidValue;
  }
  const auto items = [&](std::int64_t count) {
    return divide_up(count * traits_of(type).bytes, item_bytes(method));
  };
  if (has_flags_in_data(method) && items(elements) != items(most_elements)) {
    return cudaErrorInvalidValue;
  }
  const Arguments arguments{regions, offsets, items(elements), whole_lines(items(most_elements))};
  if (type == ElementType::float32) {
    return launch_for_ranks<float>(method, arguments, blocks, stream);
  }
  if (type == ElementType::float16) {
    return launch_for_ranks<__half>(method, arguments, blocks, stream);
  }
  return launch_for_ranks<__nv_bfloat16>(method, arguments, blocks, stream);
}

}  // namespace linkgain::kernels

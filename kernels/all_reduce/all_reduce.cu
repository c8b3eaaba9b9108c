#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/all_reduce/all_reduce.hpp"
#include "kernels/all_reduce/ll.cuh"
#include "kernels/all_reduce/ring.cuh"
#include "kernels/all_reduce/sentinel.cuh"
#include "kernels/all_reduce/two_shot.cuh"
#include "kernels/common/device_attribute.hpp"
#include "kernels/common/element.cuh"
#include "kernels/common/pdl.cuh"
#include "kernels/verify/pattern.hpp"

namespace linkgain::kernels {
namespace {

/// Runs each method by its function. Without a number of blocks the compiler spills to make room
/// for more.
template <AllReduceMethod kMethod, typename T, int kRanks>
__global__ void __launch_bounds__(kAllReduceThreads, blocks_per_multiprocessor(kMethod, kRanks))
    all_reduce_kernel(const __grid_constant__ AllReduceArguments arguments) {
  pdl_trigger_then_wait();
  if constexpr (kMethod == AllReduceMethod::ll) {
    ll<T, kRanks>(arguments);
  } else if constexpr (kMethod == AllReduceMethod::sentinel && kRanks == 2) {
    sentinel_one_phase<T>(arguments);
  } else if constexpr (kMethod == AllReduceMethod::sentinel) {
    sentinel_two_phases<T, kRanks>(arguments);
  } else if constexpr (kMethod == AllReduceMethod::ring) {
    Ring<kRanks>(arguments).run();
  } else {
    TwoShot<T, kRanks, kMethod == AllReduceMethod::staged_two_shot>(arguments).run();
  }
}

/// A kernel, and how many of its blocks run at once on the current device.
struct Entry {
  void (*kernel)(const AllReduceArguments) = nullptr;
  int most_blocks = 0;
};

/// Returns the blocks of full size; 0 if that is not known.
int most_blocks(void (*kernel)(const AllReduceArguments)) {
  int each = 0;
  int multiprocessors = 0;
  const bool is_known =
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, kAllReduceThreads, 0) ==
          cudaSuccess &&
      device_attribute(cudaDevAttrMultiProcessorCount, &multiprocessors) == cudaSuccess;
  return is_known ? each * multiprocessors : 0;
}

/// Returns a method's kernel; empty if there is none. All of a machine's devices are taken for
/// alike.
template <AllReduceMethod kMethod, typename T, int kRanks>
Entry entry() {
  if constexpr (std::is_same_v<T, float> || !traits_of(kMethod).has(kFloat32Only)) {
    constexpr auto kKernel = all_reduce_kernel<kMethod, T, kRanks>;
    static const Entry found{kKernel, most_blocks(kKernel)};
    return found;
  }
  return {};
}

/// Looks it up among all methods and all numbers of ranks, from two on.
template <typename T, std::size_t... kPlaces>
Entry entry_of(AllReduceMethod method, int ranks, std::index_sequence<kPlaces...>) {
  constexpr int kCounts = kMostRanks - 1;
  constexpr Entry (*kEntries[])() = {
      entry<kAllReduceMethods[kPlaces / kCounts].method, T, kPlaces % kCounts + 2>...};
  if (ranks < 2 || ranks > kMostRanks) return {};
  return kEntries[static_cast<int>(method) * kCounts + ranks - 2]();
}

/// Requires that blocks that wait for each other's counterparts all run, whichever the devices
/// begin with.
cudaError_t find_kernel(AllReduceMethod method, ElementType type, int ranks, int blocks,
                        Entry* found) {
  return with_one_of<float, __half, __nv_bfloat16>(type, [&](auto tag) {
    constexpr auto kCount = std::size(kAllReduceMethods) * (kMostRanks - 1);
    *found =
        entry_of<typename decltype(tag)::type>(method, ranks, std::make_index_sequence<kCount>{});
    if (found->kernel == nullptr) return cudaErrorInvalidValue;
    return blocks > found->most_blocks ? cudaErrorCooperativeLaunchTooLarge : cudaSuccess;
  });
}

/// Returns no more threads than there is data for, in whole warps, if a thread waits for no others.
unsigned threads_for(const AllReduceTraits& method, std::int64_t items, int ranks, int blocks) {
  if (!method.has(kFlagsInData)) return kAllReduceThreads;
  const bool by_shares = method.has(kSentinels) && ranks > 2;
  const std::int64_t each = divide_up(divide_up(items, by_shares ? ranks : 1), blocks);
  return static_cast<unsigned>(
      std::min<std::int64_t>(kAllReduceThreads, round_up(each, kWarpThreads)));
}

}  // namespace

std::int64_t all_reduce_scratch(AllReduceMethod method, std::int64_t bytes, int ranks) {
  const AllReduceTraits& traits = traits_of(method);
  const bool sentinels = traits.has(kSentinels);
  const bool by_shares = sentinels ? ranks > 2 : traits.has(kDataByShares);
  const std::int64_t items = divide_up(divide_up(bytes, traits.item_bytes), by_shares ? ranks : 1);
  const int senders = ranks + (traits.has(kKeepsOwnShare) ? 1 : 0);
  const int slots = !sentinels ? senders : by_shares ? 2 * ranks : 1;
  const std::int64_t sets = sentinels ? kSentinelSets : kBufferSets;
  return kControlBytes + sets * slots * whole_lines(items) * kPlaceBytes;
}

std::string_view all_reduce_mutant() {
#define LINKGAIN_TEXT(name) #name
#define LINKGAIN_NAME(macro) LINKGAIN_TEXT(macro)
  return LINKGAIN_NAME(LINKGAIN_MUTANT);
}

cudaError_t reset_all_reduce_scratch(AllReduceMethod method, void* scratch, std::int64_t bytes,
                                     cudaStream_t stream) {
  if (bytes < kControlBytes) return cudaErrorInvalidValue;
  const int byte = traits_of(method).has(kSentinels) ? kSentinelByte : kPoisonByte;
  return cudaMemsetAsync(static_cast<char*>(scratch) + kControlBytes, byte,
                         static_cast<std::size_t>(bytes - kControlBytes), stream);
}

cudaError_t set_all_reduce_counters(void* scratch, const AllReduceCounters& counters,
                                    cudaStream_t stream) {
  constexpr auto kWord = sizeof(std::uint32_t);
  std::vector<std::uint32_t> control(kControlBytes / kWord, counters.signals);
  std::fill_n(control.begin() + offsetof(Control, operations) / kWord, kMostBlocks,
              counters.operations);
  return cudaMemcpyAsync(scratch, control.data(), kControlBytes, cudaMemcpyDefault, stream);
}

cudaError_t check_all_reduce(AllReduceMethod method, ElementType type, int ranks, int blocks) {
  Entry found;
  return find_kernel(method, type, ranks, blocks, &found);
}

cudaError_t all_reduce(AllReduceMethod method, const PeerRegions& regions,
                       const DataOffsets& offsets, ElementType type, std::int64_t elements,
                       std::int64_t most_elements, int blocks, cudaStream_t stream,
                       const WaitBound& bound) {
  if (elements < 1 || most_elements < elements || blocks < 1 || blocks > kMostBlocks ||
      regions.rank < 0 || regions.rank >= regions.ranks) {
    return cudaErrorInvalidValue;
  }
  const AllReduceTraits& traits = traits_of(method);
  const std::int64_t items = divide_up(elements * traits_of(type).bytes, traits.item_bytes);
  const std::int64_t most = divide_up(most_elements * traits_of(type).bytes, traits.item_bytes);
  // A block that waits for data would keep no step where it has none.
  if (traits.has(kFlagsInData) && items != most) return cudaErrorInvalidValue;
  const std::int64_t layout = whole_lines(most);
  // A thread's next item, a grid or a chunk further on, must have a number of 32 bits.
  constexpr std::int64_t kMostItems =
      std::numeric_limits<std::uint32_t>::max() - std::int64_t{kMostBlocks} * kAllReduceThreads;
  if (layout > kMostItems) return cudaErrorInvalidValue;
  Entry found;
  const cudaError_t status = find_kernel(method, type, regions.ranks, blocks, &found);
  if (status != cudaSuccess) return status;
  const void* input = static_cast<const char*>(regions.data[regions.rank]) + offsets.input;
  const AllReduceArguments arguments{static_cast<std::uint32_t>(items),
                                     static_cast<std::uint32_t>(layout), input, bound,
                                     by_steps(regions, offsets.output)};
  return launch_pdl(found.kernel, static_cast<unsigned>(blocks),
                    threads_for(traits, items, regions.ranks, blocks), stream, arguments);
}

}  // namespace linkgain::kernels

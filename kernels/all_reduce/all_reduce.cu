#include <algorithm>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "kernels/all_reduce/all_reduce.hpp"
#include "kernels/all_reduce/layout.cuh"
#include "kernels/all_reduce/packets.cuh"
#include "kernels/all_reduce/ring.cuh"
#include "kernels/all_reduce/sentinel.cuh"
#include "kernels/all_reduce/two_shot.cuh"
#include "kernels/common/device_attribute.hpp"
#include "kernels/verify/pattern.hpp"

namespace linkgain::kernels {
namespace {

constexpr auto kMethodCount = std::size(kAllReduceMethods);

/// A kernel, and how many of its blocks run at once on the current device.
struct Entry {
  AllReduceKernel kernel = nullptr;
  int (*most_blocks)() = nullptr;
};

/// Returns the blocks of full size; all of a machine's devices are taken for alike. 0 if that is
/// not known.
template <AllReduceMethod kMethod, typename T, int kRanks>
int most_blocks() {
  static const int most = [] {
    int each = 0;
    int multiprocessors = 0;
    const AllReduceKernel kernel = KernelOf<kMethod>::template get<T, kRanks>();
    if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, kAllReduceThreads, 0) !=
            cudaSuccess ||
        device_attribute(cudaDevAttrMultiProcessorCount, &multiprocessors) != cudaSuccess) {
      return 0;
    }
    return each * multiprocessors;
  }();
  return most;
}

/// Returns the kernel; empty if there is none.
template <AllReduceMethod kMethod, typename T, int kRanks>
Entry entry() {
  constexpr AllReduceTraits kTraits = traits_of(kMethod);
  if constexpr (std::is_same_v<T, float> || !kTraits.has(kFloat32Only)) {
    return {KernelOf<kMethod>::template get<T, kRanks>(), most_blocks<kMethod, T, kRanks>};
  }
  return {};
}

template <typename T, int kRanks, std::size_t... kMethods>
Entry entry_of(AllReduceMethod method, std::index_sequence<kMethods...>) {
  Entry found;
  ((method == kAllReduceMethods[kMethods].method
        ? void(found = entry<kAllReduceMethods[kMethods].method, T, kRanks>())
        : void()),
   ...);
  return found;
}

template <typename T, std::size_t... kFurther>
Entry entry_of(AllReduceMethod method, int ranks, std::index_sequence<kFurther...>) {
  Entry found;
  ((ranks == kFurther + 2
        ? void(found = entry_of<T, kFurther + 2>(method, std::make_index_sequence<kMethodCount>{}))
        : void()),
   ...);
  return found;
}

/// Returns work(TypeTag<T>) for a type that there are sums of.
template <typename Work>
cudaError_t with_summed(ElementType type, Work work) {
  return with_one_of<float, __half, __nv_bfloat16>(type, work);
}

/// Requires that blocks that wait for each other's counterparts all run, whichever the devices
/// begin with.
cudaError_t find_kernel(AllReduceMethod method, ElementType type, int ranks, int blocks,
                        AllReduceKernel* kernel) {
  return with_summed(type, [&](auto tag) {
    const Entry found = entry_of<typename decltype(tag)::type>(
        method, ranks, std::make_index_sequence<kMostRanks - 1>{});
    if (found.kernel == nullptr) return cudaErrorInvalidValue;
    *kernel = found.kernel;
    return blocks > found.most_blocks() ? cudaErrorCooperativeLaunchTooLarge : cudaSuccess;
  });
}

/// Returns no more threads than there is data for, in whole warps, if a thread waits for no others.
unsigned threads_for(const AllReduceTraits& method, std::int64_t items, int blocks) {
  if (!method.has(kFlagsInData)) return kAllReduceThreads;
  const std::int64_t each = divide_up(items, blocks);
  return static_cast<unsigned>(
      std::min<std::int64_t>(kAllReduceThreads, round_up(each, kWarpThreads)));
}

}  // namespace

std::int64_t all_reduce_scratch(AllReduceMethod method, std::int64_t bytes, int ranks) {
  constexpr std::int64_t kPlaceBytes = 16;  // a packet's, or an item's
  const AllReduceTraits& traits = traits_of(method);
  const std::int64_t items = divide_up(bytes, traits.item_bytes);
  const std::int64_t share = whole_lines(divide_up(items, ranks));
  if (traits.has(kSentinels)) {
    const std::int64_t places = ranks == 2 ? whole_lines(items) : 2 * ranks * share;
    return kControlBytes + kSentinelSets * places * kPlaceBytes;
  }
  const std::int64_t places = traits.has(kDataByShares)
                                  ? (ranks + (traits.has(kKeepsOwnShare) ? 1 : 0)) * share
                                  : ranks * whole_lines(items);
  return kControlBytes + kBufferSets * places * kPlaceBytes;
}

Mutant all_reduce_mutant() { return kMutant; }

cudaError_t reset_all_reduce_scratch(AllReduceMethod method, void* scratch, std::int64_t bytes,
                                     cudaStream_t stream) {
  if (bytes < kControlBytes) return cudaErrorInvalidValue;
  const int byte = traits_of(method).has(kSentinels) ? kSentinelByte : kPoisonByte;
  return cudaMemsetAsync(static_cast<char*>(scratch) + kControlBytes, byte,
                         static_cast<std::size_t>(bytes - kControlBytes), stream);
}

cudaError_t set_all_reduce_counters(void* scratch, const AllReduceCounters& counters,
                                    cudaStream_t stream) {
  const auto control = std::make_unique<Control>();
  const auto set = [](auto& all, std::uint32_t value) {
    auto* first = reinterpret_cast<std::uint32_t*>(&all);
    std::fill(first, first + sizeof all / sizeof value, value);
  };
  set(control->counted, counters.signals);
  set(control->operations, counters.operations);
  set(control->arrived, counters.signals);
  return cudaMemcpyAsync(scratch, control.get(), sizeof *control, cudaMemcpyDefault, stream);
}

cudaError_t check_all_reduce(AllReduceMethod method, ElementType type, int ranks, int blocks) {
  AllReduceKernel kernel = nullptr;
  return find_kernel(method, type, ranks, blocks, &kernel);
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
  AllReduceKernel kernel = nullptr;
  const cudaError_t status = find_kernel(method, type, regions.ranks, blocks, &kernel);
  if (status != cudaSuccess) return status;
  const void* input = static_cast<const char*>(regions.data[regions.rank]) + offsets.input;
  const AllReduceArguments arguments{static_cast<std::uint32_t>(items),
                                     static_cast<std::uint32_t>(layout), input, bound,
                                     by_steps(regions, offsets.output)};
  const bool by_shares = traits.has(kSentinels) && regions.ranks > 2;
  const std::int64_t waited_for = by_shares ? divide_up(items, regions.ranks) : items;
  return launch_pdl(kernel, static_cast<unsigned>(blocks), threads_for(traits, waited_for, blocks),
                    stream, arguments);
}

}  // namespace linkgain::kernels

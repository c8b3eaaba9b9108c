#include <algorithm>

#include "kernels/all_reduce.hpp"
#include "kernels/all_reduce_blocks.hpp"
#include "kernels/block_state.cuh"
#include "kernels/chunks.cuh"
#include "kernels/device_attribute.hpp"
#include "kernels/early_launch.cuh"
#include "kernels/element_types.cuh"
#include "kernels/flagged_triples.cuh"
#include "kernels/peer_access.cuh"
#include "kernels/shared_sums.cuh"

namespace linkgain::kernels {
namespace {

using Arguments = AllReduceArguments;

/// Items are of 8 bytes.
template <typename T, int kRanks>
__global__ void __launch_bounds__(kAllReduceThreads)
    low_latency(const __grid_constant__ Arguments arguments) {
  begin();
  const PeerRegions& regions = arguments.regions;
  const int rank = regions.rank;
  const std::int64_t items = arguments.items;
  const uint2* input = at<uint2>(regions.data[rank], arguments.offsets.input);
  uint2* output = at<uint2>(regions.data[rank], arguments.offsets.output);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const uint2 first_item = first < items ? input[first] : uint2{};
  BlockState state(regions);
  const std::int64_t buffers = buffers_of(state, kRanks * items);
  for (std::int64_t i = first; i < items; i += stride) {
    const uint2 own = i == first ? first_item : input[i];
#pragma unroll
    for (int step = 1; step < kRanks; ++step) {
      const int peer = (rank + step) % kRanks;
      store_flagged(at<FlaggedWords>(regions.scratch[peer], buffers) + rank * items + i, own.x,
                    own.y, state.flag());
    }
  }
  const FlaggedWords* received = at<FlaggedWords>(regions.scratch[rank], buffers);
  for (std::int64_t i = first; i < items; i += stride) {
    const uint2 own = i == first ? first_item : input[i];
    Sums<T, 2> sums;
#pragma unroll
    for (int from = 0; from < kRanks; ++from) {
      const uint2 data =
          from == rank ? own : load_flagged(received + from * items + i, state.flag());
      sums.add(0, data.x);
      sums.add(1, data.y);
    }
    output[i] = make_uint2(sums.rounded(0), sums.rounded(1));
  }
  state.keep();
}

/// Items are of 16 bytes, three at a time.
template <typename T, int kRanks>
__global__ void __launch_bounds__(kAllReduceThreads)
    low_latency_wide(const __grid_constant__ Arguments arguments) {
  begin();
  const PeerRegions& regions = arguments.regions;
  const int rank = regions.rank;
  const std::int64_t items = arguments.items;
  const std::int64_t triples = (items + kTriple - 1) / kTriple;
  const uint4* input = at<uint4>(regions.data[rank], arguments.offsets.input);
  uint4* output = at<uint4>(regions.data[rank], arguments.offsets.output);
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const Triple first_triple = first < triples ? read_triple(input, first, items) : Triple{};
  BlockState state(regions);
  const std::int64_t buffers = buffers_of(state, kRanks * kPackets * triples);
  for (std::int64_t i = first; i < triples; i += stride) {
    const Triple own = i == first ? first_triple : read_triple(input, i, items);
#pragma unroll
    for (int step = 1; step < kRanks; ++step) {
      const int peer = (rank + step) % kRanks;
      uint4* to = at<uint4>(regions.scratch[peer], buffers) + rank * kPackets * triples + i;
      send_triple(to, triples, own, state.flag());
    }
  }
  const uint4* received = at<uint4>(regions.scratch[rank], buffers);
  for (std::int64_t i = first; i < triples; i += stride) {
    const Triple own = i == first ? first_triple : read_triple(input, i, items);
    Sums<T, 4> sums[kTriple];
#pragma unroll
    for (int from = 0; from < kRanks; ++from) {
      const Triple data = from == rank ? own
                                       : receive_triple(received + from * kPackets * triples + i,
                                                        triples, state.flag());
#pragma unroll
      for (int v = 0; v < kTriple; ++v) add(sums[v], data.vectors[v]);
    }
    Triple result;
#pragma unroll
    for (int v = 0; v < kTriple; ++v) result.vectors[v] = rounded(sums[v]);
    write_triple(output, i, items, result);
  }
  state.keep();
}

/// A block sends all its chunks and tells of them at once. Items are of 16 bytes.
template <typename T, int kRanks>
__global__ void __launch_bounds__(kAllReduceThreads)
    one_shot(const __grid_constant__ Arguments arguments) {
  begin();
  constexpr int kVectors = 1;
  const PeerRegions& regions = arguments.regions;
  const int rank = regions.rank;
  const std::int64_t items = arguments.items;
  const std::int64_t chunks = (items + blockDim.x - 1) / blockDim.x;
  BlockState state(regions);
  const std::int64_t buffers = buffers_of(state, kRanks * items);
  const uint4* input = at<uint4>(regions.data[rank], arguments.offsets.input);
  for (std::int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
#pragma unroll
    for (int step = 1; step < kRanks; ++step) {
      const int peer = (rank + step) % kRanks;
      uint4* to = at<uint4>(regions.scratch[peer], buffers) + rank * items;
      copy_chunk<kVectors>(input, to, chunk, items);
    }
  }
  state.tell<kRanks>(regions, kSent);
  state.wait<kRanks>(regions, kSent);
  const uint4* received = at<uint4>(regions.scratch[rank], buffers);
  uint4* output = at<uint4>(regions.data[rank], arguments.offsets.output);
  for (std::int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    uint4 results[kVectors];
    add_up<T, kRanks, kVectors>(rank, input, received, items, chunk, items, results);
    for_vectors<kVectors>(chunk, items, [&](int v, std::int64_t i) { output[i] = results[v]; });
  }
  state.keep();
}

/// A block sends its next chunk before it waits for the others' last one. Where it stores sums, its
/// counterpart has sent data of this operation, so that everything before it is over there.
template <typename T, int kRanks>
__global__ void __launch_bounds__(kAllReduceThreads, kBlocksEach)
    two_shot(const __grid_constant__ Arguments arguments) {
  begin();
  SharedSums<T, kRanks> sums(arguments, false);
  const std::int64_t chunks = sums.chunks();
  if (blockIdx.x < chunks) sums.send(blockIdx.x);
  for (std::int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const std::int64_t next = chunk + gridDim.x;
    if (next < chunks) sums.send(next);
    sums.add(chunk, next < chunks ? 1 : 0, false);
  }
  sums.tell_finished();
  sums.wait_finished(0);
  sums.keep();
}

/// As above, and a block takes the others' sums of a chunk when it has added the next one up.
template <typename T, int kRanks>
__global__ void __launch_bounds__(kAllReduceThreads)
    relayed_two_shot(const __grid_constant__ Arguments arguments) {
  begin();
  SharedSums<T, kRanks> sums(arguments, true);
  const std::int64_t chunks = sums.chunks();
  std::int64_t last = -1;
  if (blockIdx.x < chunks) sums.send(blockIdx.x);
  for (std::int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const std::int64_t next = chunk + gridDim.x;
    if (next < chunks) sums.send(next);
    sums.add(chunk, next < chunks ? 1 : 0, true);
    sums.tell_finished();
    if (last >= 0) {
      sums.wait_finished(1);
      sums.take(last);
    }
    last = chunk;
  }
  if (last >= 0) {
    sums.wait_finished(0);
    sums.take(last);
  }
  sums.keep();
}

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
      return launch_at_once<low_latency_wide<T, kRanks>>(
          blocks, threads_for(divide_up(items, kTriple), blocks), stream, arguments);
    case AllReduceMethod::one_shot:
      return launch_at_once<one_shot<T, kRanks>>(blocks, kAllReduceThreads, stream, arguments);
    case AllReduceMethod::two_shot:
      return launch_at_once<two_shot<T, kRanks>>(blocks, kAllReduceThreads, stream, arguments);
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

std::int64_t item_bytes(AllReduceMethod method) {
  return method == AllReduceMethod::low_latency ? 8 : 16;
}

}  // namespace

std::int64_t all_reduce_scratch(AllReduceMethod method, std::int64_t bytes, int ranks) {
  constexpr std::int64_t kVectorBytes = 16;  // an item's with its flags, too
  const std::int64_t items = divide_up(bytes, item_bytes(method));
  const std::int64_t share = divide_up(items, ranks);
  std::int64_t places = ranks * items;
  if (method == AllReduceMethod::low_latency_wide) {
    places = ranks * kPackets * divide_up(items, kTriple);
  }
  if (method == AllReduceMethod::two_shot) places = ranks * share;
  if (method == AllReduceMethod::relayed_two_shot) places = (ranks + 1) * share;
  return kControlBytes + kBufferSets * places * kVectorBytes;
}

bool has_all_reduce(ElementType type) {
  return type == ElementType::float32 || type == ElementType::float16 ||
         type == ElementType::bfloat16;
}

cudaError_t all_reduce(AllReduceMethod method, const PeerRegions& regions,
                       const AllReduceOffsets& offsets, ElementType type, std::int64_t elements,
                       int blocks, cudaStream_t stream) {
  if (!has_all_reduce(type) || elements < 1 || blocks < 1 || blocks > kMostAllReduceBlocks ||
      regions.rank < 0 || regions.rank >= regions.ranks) {
    return cudaErrorInvalidValue;
  }
  const std::int64_t bytes = elements * traits_of(type).bytes;
  const std::int64_t item = item_bytes(method);
  const Arguments arguments{regions, offsets, divide_up(bytes, item)};
  if (type == ElementType::float32) {
    return launch_for_ranks<float>(method, arguments, blocks, stream);
  }
  if (type == ElementType::float16) {
    return launch_for_ranks<__half>(method, arguments, blocks, stream);
  }
  return launch_for_ranks<__nv_bfloat16>(method, arguments, blocks, stream);
}

}  // namespace linkgain::kernels

#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/common/element.hpp"
#include "kernels/peer/peer_regions.hpp"

namespace linkgain::kernels {

/// How the bytes go. All push: a store crosses a link once, a load asks first, and with both
/// directions busy stores get 366 GB/s each way of an H200's NVLink where loads get 337.
enum class AllReduceMethod {
  /// Every rank stores its data into all others' scratch, a flag beside every 4 bytes; whoever sees
  /// the flag has the data. n-1 times the data on the wire, twice for the flags.
  low_latency,
  /// The same with a flag beside every 12 bytes: 4/3 of the bytes. It takes stores of 16 bytes that
  /// arrive whole, which compilers have from CUDA 12.3 on.
  low_latency_wide,
  /// The same with a flag for each block's share. n-1 times the data on the wire.
  one_shot,
  /// Every rank stores each share of its data into the scratch of the rank that adds it up, which
  /// stores the sum into all others' outputs: 2(n-1)/n of the data, the least there can be. Needs
  /// every rank's data.
  two_shot,
  /// Each share goes from rank to rank round a ring, which add theirs, and its sum round once more:
  /// as many bytes, but a rank stores only to the next one. float32 only, as sums go over the wire
  /// before they are whole. Needs every rank's data.
  ring,
  /// two_shot for ranks that only share host memory: a sum goes into its rank's scratch, once, for
  /// all others to load.
  relayed_two_shot,
};

/// Of buffers, in bytes: a vector's.
inline constexpr int kAllReduceAlignment = 16;

/// Of a line of memory. What begins at one costs a link least: stores that do not fill their lines
/// cost it more.
inline constexpr int kLineBytes = 128;

/// Where an operation finds its buffers in every rank's data, in bytes, multiples of the alignment.
struct AllReduceOffsets {
  std::int64_t input = 0;
  std::int64_t output = 0;  ///< may be `input`
};

/// Blocks at most, as scratch has a place for each.
inline constexpr int kMostAllReduceBlocks = 1024;

/// What joins the ranks.
enum class AllReduceRoad {
  /// P2P on which devices do atomic operations on each other's memory, as NVLink: 16 bytes arrive
  /// as one there.
  atomic_peers,
  /// Other P2P, as PCIe, of which only 8 bytes are sure to.
  peers,
  host_memory,
};

struct AllReduceChoice {
  AllReduceMethod method = AllReduceMethod::low_latency;
  int blocks = 1;
};

/// The fastest way for operations of `bytes` by the crossover points measured on two to four H200;
/// for more ranks by what made the difference there.
AllReduceChoice choose_all_reduce(std::int64_t bytes, ElementType type, int ranks,
                                  int multiprocessors, AllReduceRoad road);

/// As many blocks as `method` makes use of for operations of `bytes`, and no more than run at once.
int all_reduce_blocks(AllReduceMethod method, std::int64_t bytes, int ranks, int multiprocessors,
                      AllReduceRoad road);

/// Whether the compiler had what low_latency_wide takes.
bool has_low_latency_wide();

/// Bytes of every rank's scratch for operations of `bytes` at most. Operations that share scratch
/// must be of one method, launched with one grid.
std::int64_t all_reduce_scratch(AllReduceMethod method, std::int64_t bytes, int ranks);

/// Whether there is a kernel for sums of such elements: float32, float16 and bfloat16, all added up
/// in float32, so that every rank gets the same bits: in the order of ranks, or in that which the
/// ring has from a share's first rank on.
bool has_all_reduce(ElementType type);

/// Launches the sum over all ranks of `elements` into every rank's output, where no operation on
/// the same scratch has more than `most_elements`, and none has fewer where flags are in the data.
/// All of `blocks` must run at once on every device, as they wait for their counterparts: nothing
/// else may be there. Buffers are padded to 16 bytes. Where the device can (compute capability
/// 9.0), a launch comes up while the one before it in the stream ends. cudaErrorInvalidValue for
/// other types, numbers, ranks or blocks, cudaErrorNotSupported where the compiler lacked what
/// the method takes, cudaErrorCooperativeLaunchTooLarge for more blocks than the device has room
/// for.
cudaError_t all_reduce(AllReduceMethod method, const PeerRegions& regions,
                       const AllReduceOffsets& offsets, ElementType type, std::int64_t elements,
                       std::int64_t most_elements, int blocks, cudaStream_t stream);

}  // namespace linkgain::kernels

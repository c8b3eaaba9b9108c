#pragma once

#include <cstdint>
#include <string_view>

// The methods of the all-reduce, one row each, for those too who have no GPU. A method is its row
// here and the file with its kernel; README.md prints the rows, and a test holds it to them.

namespace linkgain::kernels {

/// How the bytes go. All push: a store crosses a link once, a load asks first, and with both
/// directions busy stores get 366 GB/s each way of an H200's NVLink where loads get 337.
enum class AllReduceMethod { ll, sentinel, two_shot, ring, staged_two_shot };

/// What joins the ranks.
enum class AllReducePath {
  /// P2P by which devices do atomic operations on each other's memory, as NVLink.
  p2p_atomics,
  /// Other P2P, as PCIe. That flags come there behind the data before them no machine has proved:
  /// what waits for the data themselves is all that is chosen.
  p2p,
  host_memory,
};

/// Threads of a block of the all-reduce kernels, at most.
inline constexpr int kAllReduceThreads = 512;

enum AllReduceTrait : unsigned {
  kByP2p = 1U,           ///< worth choosing there
  kThroughHost = 2U,     ///< worth choosing there
  kFloat32Only = 4U,     ///< partial sums go over the link, which half precision would round
  kReachesData = 8U,     ///< needs every rank's data, and not only its scratch
  kFlagsInData = 16U,    ///< a block waits for data, not for its counterparts
  kDataByShares = 32U,   ///< scratch has a share of the data from each rank, not all of them
  kKeepsOwnShare = 64U,  ///< and the sums of the rank's own
  kSentinels = 128U      ///< words of fresh buffers are sentinels, in three sets
};

struct AllReduceTraits {
  AllReduceMethod method;
  std::string_view name;
  std::string_view form;       ///< as records say it
  std::string_view algorithm;  ///< in records, too
  std::string_view protocol;
  unsigned traits;         ///< of AllReduceTrait
  std::string_view sent;   ///< by each of n ranks, times the data
  std::string_view waits;  ///< of a block for other ranks, one after the other
  int item_bytes;          ///< that a thread handles at once
  /// Bytes of an operation for which a block more pays; 0: as select.cu says.
  int p2p_block_bytes;
  int host_block_bytes;
  /// The most ranks with which a multiprocessor keeps registers for two blocks, and not for one: a
  /// thread may have vectors of all ranks in flight.
  int two_blocks_ranks;

  constexpr bool has(AllReduceTrait trait) const { return (traits & trait) != 0; }
};

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1000
inline constexpr int kTwoBlocksRanksOfRing = 0;  // with two blocks it spills
#else
inline constexpr int kTwoBlocksRanksOfRing = 8;  // though it is launched with one
#endif

// clang-format off
inline constexpr AllReduceTraits kAllReduceMethods[] = {
    {AllReduceMethod::ll, "ll", "one-shot, flags in data", "ONE_SHOT", "LL",
     kByP2p | kThroughHost | kFlagsInData, "2 (n - 1)", "1", 8, 256, 256, 0},
    {AllReduceMethod::sentinel, "sentinel", "sentinels in data", "TWO_SHOT", "SENTINEL",
     kByP2p | kThroughHost | kFlagsInData | kSentinels, "2 (n - 1) / n", "1, of three ranks on 2",
     16, 1024, 2048, 2},
    {AllReduceMethod::two_shot, "two_shot", "two-shot", "TWO_SHOT", "SIMPLE",
     kByP2p | kReachesData | kDataByShares, "2 (n - 1) / n", "2", 16, 0, 0, 5},
    {AllReduceMethod::ring, "ring", "ring", "RING", "SIMPLE",
     kByP2p | kFloat32Only | kReachesData | kDataByShares, "2 (n - 1) / n", "2 (n - 1)", 16, 0, 0,
     kTwoBlocksRanksOfRing},
    {AllReduceMethod::staged_two_shot, "staged_two_shot", "two-shot, sums staged", "TWO_SHOT",
     "SIMPLE", kThroughHost | kDataByShares | kKeepsOwnShare, "1", "2", 16, 0, 0, 0},
};
// clang-format on

/// Looks a method up: the rows are in the order of the enumeration, which the test asserts.
constexpr const AllReduceTraits& traits_of(AllReduceMethod method) {
  return kAllReduceMethods[static_cast<int>(method)];
}

/// Returns the blocks of a method's kernel for which a multiprocessor keeps registers.
constexpr int blocks_per_multiprocessor(AllReduceMethod method, int ranks) {
  return ranks <= traits_of(method).two_blocks_ranks ? 2 : 1;
}

}  // namespace linkgain::kernels

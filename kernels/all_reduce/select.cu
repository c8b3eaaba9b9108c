#include <algorithm>

#include "kernels/all_reduce/all_reduce.hpp"
#include "kernels/all_reduce/blocks.hpp"
#include "kernels/peer/packet.cuh"
#include "kernels/peer/peer_access.cuh"

// Where one method overtakes another, as tests/backends/all_reduce_methods found it on two, three
// and four H200 (README.md has a table). `bytes` are an operation's, `sent` are bytes * (ranks -
// 1): what a rank sends that gives all others everything.

namespace linkgain::kernels {
namespace {

constexpr std::int64_t kKibibyte = 1 << 10;
constexpr std::int64_t kMebibyte = 1 << 20;
constexpr std::int64_t kLongSteps = 32 * kMebibyte;
constexpr std::int64_t kFlagsPay = 64 * kKibibyte;  ///< sent bytes up to which low_latency leads

/// low_latency_wide sends 4/3 of `sent`, two_shot, which waits once more, 2/ranks of it. The wait
/// pays where it saves more than 0.95 MiB: above 2.85 MiB on two ranks, 390 KiB on four.
AllReduceMethod fastest_of_small(std::int64_t sent, int ranks) {
  const std::int64_t saved = sent * (4 * ranks - 6) / (3 * ranks);
  if (sent <= kFlagsPay) return AllReduceMethod::low_latency;
  return saved <= 972 * kKibibyte ? AllReduceMethod::low_latency_wide : AllReduceMethod::two_shot;
}

/// Without low_latency_wide.
AllReduceMethod fastest_of_small_narrow(std::int64_t sent) {
  if (sent <= kMebibyte / 2) return AllReduceMethod::low_latency;
  return sent <= 2 * kMebibyte ? AllReduceMethod::one_shot : AllReduceMethod::two_shot;
}

/// Stores to one rank get 366 GB/s of an H200's NVLink, to three in turn 350: the ring's many steps
/// pay where they are long.
AllReduceMethod fastest_of_peers(std::int64_t bytes, ElementType type, int ranks,
                                 bool whole_vectors) {
  if (bytes > kLongSteps && type == ElementType::float32) return AllReduceMethod::ring;
  const std::int64_t sent = bytes * (ranks - 1);
  return whole_vectors ? fastest_of_small(sent, ranks) : fastest_of_small_narrow(sent);
}

/// Through the host relayed_two_shot pays where it saves reading 100 KiB over PCIe. Between two
/// ranks it saves nothing, but sends while it adds up, above 1 MiB.
AllReduceMethod fastest_through_host(std::int64_t bytes, int ranks) {
  const std::int64_t sent = bytes * (ranks - 1);
  if (sent <= kFlagsPay) return AllReduceMethod::low_latency;
  const std::int64_t saved = sent * (ranks - 2) / ranks;
  return sent <= kMebibyte && saved <= 100 * kKibibyte ? AllReduceMethod::one_shot
                                                       : AllReduceMethod::relayed_two_shot;
}

constexpr std::int64_t kWarpBytes = 256;  // of low_latency

int blocks_of_peers(AllReduceMethod method, std::int64_t bytes, int multiprocessors) {
  constexpr std::int64_t kWideWarpBytes = 32 * 16 * kTriple;
  constexpr std::int64_t kBlockBytes = 16 * kAllReduceThreads;
  const auto one_for_each = [&](std::int64_t part) {
    return static_cast<int>(std::min<std::int64_t>(divide_up(bytes, part), multiprocessors));
  };
  if (method == AllReduceMethod::low_latency) return one_for_each(kWarpBytes);
  if (method == AllReduceMethod::low_latency_wide) return one_for_each(kWideWarpBytes);
  if (method == AllReduceMethod::one_shot) return one_for_each(kBlockBytes);
  const bool many = method == AllReduceMethod::two_shot && bytes > 32 * kMebibyte;
  return many ? kBlocksEach * multiprocessors : multiprocessors;
}

/// Few fill PCIe, fewer where each talks to several ranks: two chunks of a share for each, or one
/// where there are hardly any.
int relaying_blocks(std::int64_t bytes, int ranks) {
  constexpr std::int64_t kHardlyAny = 6;
  const std::int64_t chunk = 16 * kAllReduceThreads * vectors_in_flight(ranks);
  const std::int64_t chunks = divide_up(divide_up(bytes, ranks), chunk);
  const std::int64_t most = ranks == 2 && bytes > 16 * kMebibyte ? 32 : 16;
  return static_cast<int>(std::min(chunks <= kHardlyAny ? chunks : divide_up(chunks, 2), most));
}

int blocks_through_host(AllReduceMethod method, std::int64_t bytes, int ranks) {
  constexpr std::int64_t kMost = 32;
  if (method == AllReduceMethod::relayed_two_shot) return relaying_blocks(bytes, ranks);
  const std::int64_t part =
      method == AllReduceMethod::low_latency ? kWarpBytes : 32 * kAllReduceThreads;
  return static_cast<int>(std::min(divide_up(bytes, part), kMost));
}

}  // namespace

int all_reduce_blocks(AllReduceMethod method, std::int64_t bytes, int ranks, int multiprocessors,
                      AllReduceRoad road) {
  const int blocks = road == AllReduceRoad::host_memory
                         ? blocks_through_host(method, bytes, ranks)
                         : blocks_of_peers(method, bytes, multiprocessors);
  return std::min(blocks, kMostAllReduceBlocks);
}

AllReduceChoice choose_all_reduce(std::int64_t bytes, ElementType type, int ranks,
                                  int multiprocessors, AllReduceRoad road) {
  const bool whole_vectors = kHasWholeVectors && road == AllReduceRoad::atomic_peers;
  const AllReduceMethod method = road == AllReduceRoad::host_memory
                                     ? fastest_through_host(bytes, ranks)
                                     : fastest_of_peers(bytes, type, ranks, whole_vectors);
  return {method, all_reduce_blocks(method, bytes, ranks, multiprocessors, road)};
}

bool has_low_latency_wide() { return kHasWholeVectors; }

}  // namespace linkgain::kernels

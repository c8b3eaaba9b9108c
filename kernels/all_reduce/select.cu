#include <algorithm>

#include "kernels/all_reduce/all_reduce.hpp"
#include "kernels/all_reduce/layout.cuh"
#include "kernels/common/memory_order.cuh"

// Where one method overtakes another, as tests/worker/backends/all_reduce_methods.cpp found it on
// two, three and four H200 (README.md has a table). `bytes` are an operation's, `sent` are bytes *
// (ranks - 1): what a rank sends that gives all others everything.

namespace linkgain::kernels {
namespace {

constexpr std::int64_t kKibibyte = 1 << 10;
constexpr std::int64_t kMebibyte = 1 << 20;
constexpr std::int64_t kLongSteps = 32 * kMebibyte;
constexpr std::int64_t kFlagsPay = 64 * kKibibyte;  ///< sent bytes up to which ll leads

/// Chooses between ll16, which sends 4/3 of `sent`, and two_shot, which waits once more and sends
/// 2/ranks of it. The wait pays where it saves more than 0.95 MiB: above 2.85 MiB on two ranks, 390
/// KiB on four.
AllReduceMethod fastest_of_small(std::int64_t sent, int ranks) {
  const std::int64_t saved = sent * (4 * ranks - 6) / (3 * ranks);
  if (sent <= kFlagsPay) return AllReduceMethod::ll;
  return saved <= 972 * kKibibyte ? AllReduceMethod::ll16 : AllReduceMethod::two_shot;
}

/// Chooses without ll16.
AllReduceMethod fastest_of_small_narrow(std::int64_t sent) {
  if (sent <= kMebibyte / 2) return AllReduceMethod::ll;
  return sent <= 2 * kMebibyte ? AllReduceMethod::one_shot : AllReduceMethod::two_shot;
}

/// Stores to one rank get 366 GB/s of an H200's NVLink, to three in turn 350: the ring's many steps
/// pay where they are long.
AllReduceMethod fastest_by_p2p(std::int64_t bytes, ElementType type, int ranks) {
  if (bytes > kLongSteps && type == ElementType::float32) return AllReduceMethod::ring;
  const std::int64_t sent = bytes * (ranks - 1);
  return kHasWholeVectors ? fastest_of_small(sent, ranks) : fastest_of_small_narrow(sent);
}

/// Chooses through the host, where staged_two_shot pays if it saves reading 100 KiB over PCIe.
/// Between two ranks it saves nothing, but sends while it adds up, above 1 MiB.
AllReduceMethod fastest_through_host(std::int64_t bytes, int ranks) {
  const std::int64_t sent = bytes * (ranks - 1);
  if (sent <= kFlagsPay) return AllReduceMethod::ll;
  const std::int64_t saved = sent * (ranks - 2) / ranks;
  return sent <= kMebibyte && saved <= 100 * kKibibyte ? AllReduceMethod::one_shot
                                                       : AllReduceMethod::staged_two_shot;
}

int blocks_by_p2p(AllReduceMethod method, std::int64_t bytes, int ranks, int multiprocessors) {
  const int part = traits_of(method).p2p_block_bytes;
  if (part > 0) {
    return static_cast<int>(std::min<std::int64_t>(divide_up(bytes, part), multiprocessors));
  }
  const bool many = method == AllReduceMethod::two_shot && bytes > kLongSteps;
  return many ? two_shot_blocks(ranks) * multiprocessors : multiprocessors;
}

/// Returns few blocks, which fill PCIe, and fewer if each talks to several ranks: two chunks of a
/// share for each, or one if there are hardly any.
int staging_blocks(std::int64_t bytes, int ranks) {
  constexpr std::int64_t kHardlyAny = 6;
  const std::int64_t chunk = 16 * kAllReduceThreads * vectors_in_flight(ranks);
  const std::int64_t chunks = divide_up(divide_up(bytes, ranks), chunk);
  const std::int64_t most = ranks == 2 && bytes > 16 * kMebibyte ? 32 : 16;
  return static_cast<int>(std::min(chunks <= kHardlyAny ? chunks : divide_up(chunks, 2), most));
}

int blocks_through_host(AllReduceMethod method, std::int64_t bytes, int ranks) {
  constexpr std::int64_t kMost = 32;
  const int part = traits_of(method).host_block_bytes;
  if (part == 0) return staging_blocks(bytes, ranks);
  return static_cast<int>(std::min(divide_up(bytes, part), kMost));
}

}  // namespace

int all_reduce_blocks(AllReduceMethod method, std::int64_t bytes, int ranks, int multiprocessors,
                      AllReducePath path) {
  const int blocks = path == AllReducePath::host_memory
                         ? blocks_through_host(method, bytes, ranks)
                         : blocks_by_p2p(method, bytes, ranks, multiprocessors);
  return std::min(blocks, kMostBlocks);
}

AllReduceChoice choose_all_reduce(std::int64_t bytes, ElementType type, int ranks,
                                  int multiprocessors, AllReducePath path) {
  AllReduceMethod method = AllReduceMethod::ll;
  if (path == AllReducePath::host_memory) method = fastest_through_host(bytes, ranks);
  if (path == AllReducePath::p2p_atomics) method = fastest_by_p2p(bytes, type, ranks);
  return {method, all_reduce_blocks(method, bytes, ranks, multiprocessors, path)};
}

bool is_built(AllReduceMethod method) {
  return kHasWholeVectors || !traits_of(method).has(kWholeVectors);
}

}  // namespace linkgain::kernels

#include <algorithm>

#include "kernels/all_reduce/all_reduce.hpp"
#include "kernels/all_reduce/block.cuh"

// Where one method overtakes another, as tests/worker/backends/all_reduce_methods.cpp found it on
// two, three and four H200 (README.md has a table). `bytes` are an operation's, `sent` are bytes *
// (ranks - 1): what a rank sends that gives all others everything.

namespace linkgain::kernels {
namespace {

constexpr std::int64_t kKibibyte = 1 << 10;
constexpr std::int64_t kMebibyte = 1 << 20;
constexpr std::int64_t kLongSteps = 32 * kMebibyte;
/// Bytes of an operation up to which a flag beside every word costs nothing, and a sentinel an
/// instruction.
constexpr std::int64_t kFewWords = 512;
/// Bytes of an operation up to which two ranks wait for data alone: above, what clears and what
/// polls has more to do than a second wait takes.
constexpr std::int64_t kSentinelsPay = 8 * kMebibyte;

AllReduceMethod fastest(std::int64_t bytes, ElementType type, int ranks, AllReducePath path) {
  if (bytes <= kFewWords) return AllReduceMethod::ll;
  switch (path) {
    case AllReducePath::p2p_atomics:
      if (bytes <= kSentinelsPay) return AllReduceMethod::sentinel;
      // Stores to one rank get 366 GB/s of an H200's NVLink, to three in turn 350: the ring's many
      // steps pay where they are long.
      return bytes > kLongSteps && type == ElementType::float32 ? AllReduceMethod::ring
                                                                : AllReduceMethod::two_shot;
    case AllReducePath::p2p:
      return AllReduceMethod::sentinel;  // which waits for the data themselves
    case AllReducePath::host_memory: {
      // staged_two_shot pays if it saves reading 100 KiB over PCIe. Between two ranks it saves
      // nothing, but sends while it adds up.
      const std::int64_t saved = bytes * (ranks - 1) * (ranks - 2) / ranks;
      const bool is_small = bytes * (ranks - 1) < kMebibyte && saved <= 100 * kKibibyte;
      return is_small ? AllReduceMethod::sentinel : AllReduceMethod::staged_two_shot;
    }
  }
  return AllReduceMethod::sentinel;
}

int blocks_by_p2p(AllReduceMethod method, std::int64_t bytes, int ranks, int multiprocessors) {
  const int part = traits_of(method).p2p_block_bytes;
  if (part > 0 && bytes <= kMebibyte) {
    return static_cast<int>(std::min<std::int64_t>(divide_up(bytes, part), multiprocessors));
  }
  const bool many = method == AllReduceMethod::sentinel ||
                    (method == AllReduceMethod::two_shot && bytes > kLongSteps);
  return (many ? blocks_per_multiprocessor(method, ranks) : 1) * multiprocessors;
}

/// Returns few blocks, which fill PCIe, and fewer of staged_two_shot if each talks to several
/// ranks: two chunks of a share for each, or one if there are hardly any.
int blocks_through_host(AllReduceMethod method, std::int64_t bytes, int ranks) {
  constexpr std::int64_t kMost = 32;
  constexpr std::int64_t kHardlyAny = 6;
  const int part = traits_of(method).host_block_bytes;
  if (part > 0) return static_cast<int>(std::min(divide_up(bytes, part), kMost));
  const std::int64_t chunk = 16 * kAllReduceThreads * vectors_in_flight(ranks);
  const std::int64_t chunks = divide_up(divide_up(bytes, ranks), chunk);
  const std::int64_t most = ranks == 2 && bytes > 16 * kMebibyte ? kMost : kMost / 2;
  return static_cast<int>(std::min(chunks <= kHardlyAny ? chunks : divide_up(chunks, 2), most));
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
  const AllReduceMethod method = fastest(bytes, type, ranks, path);
  return {method, all_reduce_blocks(method, bytes, ranks, multiprocessors, path)};
}

}  // namespace linkgain::kernels

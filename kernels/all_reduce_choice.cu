#include <algorithm>

#include "kernels/all_reduce.hpp"
#include "kernels/all_reduce_blocks.hpp"
#include "kernels/flagged_triples.cuh"
#include "kernels/peer_access.cuh"

namespace linkgain::kernels {

/// On two H200 low_latency leads up to 64 KiB with P2P, low_latency_wide to 1 MiB (without it
/// low_latency to 512 KiB), one_shot to 2 MiB, then two_shot; through
/// host memory, where few blocks fill PCIe, up to 64 KiB and 2 MiB. All are bound by what a rank
/// sends.
AllReduceChoice choose_all_reduce(std::int64_t bytes, int ranks, int multiprocessors,
                                  bool through_host) {
  constexpr std::int64_t kMebibyte = 1 << 20;
  constexpr std::int64_t kWarpBytes = 256;  // of low_latency
  constexpr std::int64_t kWideWarpBytes = 32 * 16 * kTriple;
  constexpr std::int64_t kBlockBytes = 16 * kAllReduceThreads;
  const std::int64_t sent = bytes * (ranks - 1);
  const auto choice = [](AllReduceMethod method, std::int64_t wanted, std::int64_t most) {
    return AllReduceChoice{method, static_cast<int>(std::clamp<std::int64_t>(wanted, 1, most))};
  };
  if (through_host) {
    if (sent <= kMebibyte / 16) {
      return choice(AllReduceMethod::low_latency, divide_up(bytes, kWarpBytes), 32);
    }
    if (sent <= 2 * kMebibyte) {
      return choice(AllReduceMethod::one_shot, divide_up(bytes, 4 * kBlockBytes), 32);
    }
    return choice(AllReduceMethod::relayed_two_shot, std::max<std::int64_t>(8, sent / kMebibyte),
                  32);
  }
  if (sent <= (kHasWholeVectors ? kMebibyte / 16 : kMebibyte / 2)) {
    return choice(AllReduceMethod::low_latency, divide_up(bytes, kWarpBytes), multiprocessors);
  }
  if (kHasWholeVectors && sent <= kMebibyte) {
    return choice(AllReduceMethod::low_latency_wide, divide_up(bytes, kWideWarpBytes),
                  multiprocessors);
  }
  if (sent <= 2 * kMebibyte) {
    return choice(AllReduceMethod::one_shot, divide_up(bytes, kBlockBytes), multiprocessors);
  }
  // Two blocks of more than two ranks' registers do not fit on a multiprocessor.
  const bool two_fit = ranks == 2 && sent > 32 * kMebibyte;
  const int most = two_fit ? 2 * multiprocessors : multiprocessors;
  return choice(AllReduceMethod::two_shot, most, kMostAllReduceBlocks);
}

}  // namespace linkgain::kernels

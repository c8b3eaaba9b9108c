#pragma once

#include <cstdint>

namespace linkgain::kernels {

/// The most GPUs that one of our kernels works across.
inline constexpr int kMostRanks = 8;
/// The most blocks of such a kernel, as scratch has a place for each.
inline constexpr int kMostBlocks = 1024;
/// Bytes of a line of memory. What begins at one costs a link least: stores that do not fill their
/// lines cost it more.
inline constexpr int kLineBytes = 128;

/// Memory of equal layout on every rank, as this process's device sees it. The kernels that share
/// it must be launched with the same grid and in the same order on every rank.
struct PeerRegions {
  /// Where operations find their data; only the own is needed where a kernel sends nothing but to
  /// scratch.
  void* data[kMostRanks];
  /// Where ranks leave each other messages, on the device of the rank they are for or in host
  /// memory that all reach. Zero before the first operation.
  void* scratch[kMostRanks];
  int ranks;
  int rank;
};

/// The same as a kernel gets it, for one operation: by how many steps a rank comes after this one,
/// which is the first, along the ring of ranks. So the compiler knows where in the arguments a
/// region stands; a place that depends on the rank takes loads more, for which the shortest
/// operations wait.
struct PeerSteps {
  struct Region {
    void* output;  ///< where the operation's results go
    void* scratch;
  };

  int rank;
  Region by_step[kMostRanks];
};

/// Turns regions around by steps; `output` is where in every rank's data results go, in bytes.
inline PeerSteps by_steps(const PeerRegions& regions, std::int64_t output) {
  PeerSteps steps{regions.rank, {}};
  for (int step = 0; step < regions.ranks; ++step) {
    const int peer = (regions.rank + step) % regions.ranks;
    auto* data = static_cast<char*>(regions.data[peer]);
    steps.by_step[step] = {data == nullptr ? nullptr : data + output, regions.scratch[peer]};
  }
  return steps;
}

/// Where an operation finds its buffers in every rank's data, in bytes, multiples of the alignment.
struct DataOffsets {
  std::int64_t input = 0;
  std::int64_t output = 0;  ///< may be `input`
};

}  // namespace linkgain::kernels

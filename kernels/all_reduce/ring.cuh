#pragma once

#include <cstdint>

#include "kernels/all_reduce/block.cuh"

// Each share of the data is added up along the ring of ranks, and its sum goes round once more. A
// rank stores only to the next one, and a block waits for its counterpart on the previous one
// before each of 2 (n - 1) steps.

namespace linkgain::kernels {

/// One block's part, of float32. Share q starts at rank q, every rank adds its own to it and sends
/// it on, the last one knows the sum, which goes round once more. In scratch a share has the place
/// of its number.
template <int kRanks>
class Ring {
 public:
  __device__ explicit Ring(const AllReduceArguments& arguments)
      : peers_(arguments.peers),
        input_(static_cast<const uint4*>(arguments.input)),
        shares_(arguments),
        block_(arguments, kRanks * shares_.pitch()) {}

  /// Keeps two parts of the data under way in turn, so that a block need not wait for what was only
  /// just sent. Parts are large, as a flag holds a block up, and alike.
  __device__ void run() {
    constexpr std::uint32_t kMostChunks = 16;
    const std::uint32_t chunks = shares_.chunks(kVectors);
    const std::uint32_t parts = 2 * gridDim.x;
    const std::uint32_t rounds = divide_up(chunks, parts * kMostChunks);
    const std::uint32_t size = divide_up(chunks, parts * rounds);
    const auto end_of = [&](std::uint32_t first) { return min(first + size, chunks); };
    for (std::uint32_t first = blockIdx.x * size; first < chunks; first += parts * size) {
      const std::uint32_t second = first + gridDim.x * size;
      const bool two = second < chunks;
#pragma unroll 1
      for (int step = 0; step < 2 * (kRanks - 1); ++step) {
        take_step(step, first, end_of(first), two ? 1 : 0);
        if (two) take_step(step, second, end_of(second), 1);
      }
    }
    wait(0);
    block_.commit();
  }

 private:
  static constexpr int kVectors = 2;  ///< in flight for each thread

  /// Takes the chunks from `first` to `end` of one share a step further: kRanks - 1 steps add up,
  /// as many distribute sums. Waits for the previous rank as wait() does.
  __device__ void take_step(int step, std::uint32_t first, std::uint32_t end,
                            std::uint32_t behind) {
    const int share = (peers_.rank + 2 * kRanks - step) % kRanks;
    const PeerSteps::Region& own = peers_.by_step[0];
    const PeerSteps::Region& next = peers_.by_step[1];
    const std::int64_t place = shares_.first_of(share);
    const uint4* input = input_ + place;
    const uint4* received = block_.buffers(0) + place;
    uint4* output = static_cast<uint4*>(own.output) + place;
    uint4* to_scratch = block_.buffers(1) + place;
    uint4* to_output = static_cast<uint4*>(next.output) + place;
    if (step > 0) wait(behind);
    const std::uint32_t count = shares_.count_of(share);
    if (step == 0) {
      copy(input, to_scratch, first, end, count);
    } else if (step < kRanks - 1) {
      add(received, input, first, end, count,
          [&](std::uint32_t i, const uint4& sum) { to_scratch[i] = sum; });
    } else if (step == kRanks - 1) {
      add(received, input, first, end, count, [&](std::uint32_t i, const uint4& sum) {
        output[i] = sum;
        to_output[i] = sum;
      });
    } else {
      copy(output, to_output, first, end, count);
    }
    block_.signal_one(1, kSent);
  }

  /// Waits until the previous rank has done all steps but `behind` that this one has.
  __device__ void wait(std::uint32_t behind) {
    block_.wait_for_one(kSent, (peers_.rank + kRanks - 1) % kRanks, behind);
  }

  static __device__ void copy(const uint4* from, uint4* to, std::uint32_t first, std::uint32_t end,
                              std::uint32_t count) {
#pragma unroll 1
    for (std::uint32_t chunk = first; chunk < end; ++chunk) {
      copy_chunk<kVectors>(from, to, chunk, count);
    }
  }

  /// Calls store(place, sum) for this thread's vectors.
  template <typename Store>
  static __device__ void add(const uint4* received, const uint4* own, std::uint32_t first,
                             std::uint32_t end, std::uint32_t count, Store store) {
#pragma unroll 1
    for (std::uint32_t chunk = first; chunk < end; ++chunk) {
      uint4 data[kVectors][2];
      for_vectors<kVectors>(chunk, count, [&](int v, std::uint32_t i) {
        data[v][0] = load_once(received + i);
        data[v][1] = load_once(own + i);
      });
      for_vectors<kVectors>(chunk, count, [&](int v, std::uint32_t i) {
        Sums<float, 4> sums;
        kernels::add(sums, data[v][0]);
        kernels::add(sums, data[v][1]);
        store(i, rounded(sums));
      });
    }
  }

  const PeerSteps& peers_;
  const uint4* input_;
  Shares<kRanks> shares_;
  Block<kRanks> block_;
};

}  // namespace linkgain::kernels

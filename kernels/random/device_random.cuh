#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "kernels/random/philox.hpp"

// counter_random.hpp's words, bit by bit, in fewer instructions: there compilers widen whole rounds
// to 64 bits, of which multiplications take three times as long.

namespace linkgain::kernels {

struct WideProduct {
  std::uint32_t low;
  std::uint32_t high;
};

__device__ inline WideProduct wide_product(std::uint32_t a, std::uint32_t b) {
  WideProduct product;
  asm("{\n\t"
      ".reg .b64 product;\n\t"
      "mul.wide.u32 product, %2, %3;\n\t"
      "mov.b64 {%0, %1}, product;\n\t"
      "}"
      : "=r"(product.low), "=r"(product.high)
      : "r"(a), "r"(b));
  return product;
}

/// As random_block().
__device__ inline RandomWords device_random_block(const RandomSequence& sequence,
                                                  std::uint64_t block) {
  RandomWords words{{static_cast<std::uint32_t>(block),
                     static_cast<std::uint32_t>(block >> 32) | sequence.purpose << 24,
                     sequence.place, sequence.step}};
  std::uint32_t first_key = static_cast<std::uint32_t>(sequence.seed);
  std::uint32_t second_key = static_cast<std::uint32_t>(sequence.seed >> 32);
#pragma unroll
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const WideProduct even = wide_product(0xD2511F53U, words.word[0]);
    const WideProduct odd = wide_product(0xCD9E8D57U, words.word[2]);
    words = {{odd.high ^ words.word[1] ^ first_key, odd.low, even.high ^ words.word[3] ^ second_key,
              even.low}};
    first_key += 0x9E3779B9U;
    second_key += 0xBB67AE85U;
  }
  return words;
}

}  // namespace linkgain::kernels

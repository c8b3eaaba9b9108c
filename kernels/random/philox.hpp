#pragma once

#include <cmath>
#include <cstdint>

#include "kernels/common/math.hpp"

// Random numbers that are a pure function of where they are used: no state, any order, any thread,
// the same bits on every device. Philox4x32-10 of J. Salmon, M. Moraes, R. Dror and D. Shaw,
// "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

namespace linkgain::kernels {

/// What Philox takes as counter and gives as result.
struct RandomWords {
  std::uint32_t word[4];
};

struct RandomKey {
  std::uint32_t word[2];
};

inline constexpr int kPhiloxRounds = 10;

LINKGAIN_BOTH constexpr RandomWords philox_round(const RandomWords& counter, const RandomKey& key) {
  const std::uint64_t even = std::uint64_t{0xD2511F53U} * counter.word[0];
  const std::uint64_t odd = std::uint64_t{0xCD9E8D57U} * counter.word[2];
  return {{static_cast<std::uint32_t>(odd >> 32) ^ counter.word[1] ^ key.word[0],
           static_cast<std::uint32_t>(odd),
           static_cast<std::uint32_t>(even >> 32) ^ counter.word[3] ^ key.word[1],
           static_cast<std::uint32_t>(even)}};
}

/// Encrypts the counter; between rounds the key moves on by the golden ratio and by the square root
/// of 3, less one.
LINKGAIN_BOTH constexpr RandomWords philox(RandomWords counter, RandomKey key) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    counter = philox_round(counter, key);
    key = {{key.word[0] + 0x9E3779B9U, key.word[1] + 0xBB67AE85U}};
  }
  return counter;
}

/// A sequence of random words of its own for each value. `place` and `step` mean what the purpose
/// says.
struct RandomSequence {
  std::uint64_t seed;
  std::uint32_t purpose;  ///< below 256
  std::uint32_t place;
  std::uint32_t step;
};

/// Elements that one call of philox() serves.
inline constexpr int kWordsPerBlock = 4;

/// Returns the words of elements 4 * block … 4 * block + 3. `block` is below 2^56.
LINKGAIN_BOTH constexpr RandomWords random_block(const RandomSequence& sequence,
                                                 std::uint64_t block) {
  const RandomWords counter{{static_cast<std::uint32_t>(block),
                             static_cast<std::uint32_t>(block >> 32) | sequence.purpose << 24,
                             sequence.place, sequence.step}};
  return philox(counter, {{static_cast<std::uint32_t>(sequence.seed),
                           static_cast<std::uint32_t>(sequence.seed >> 32)}});
}

/// Returns the word of one element.
LINKGAIN_BOTH constexpr std::uint32_t random_word(const RandomSequence& sequence,
                                                  std::uint64_t element) {
  return random_block(sequence, element / kWordsPerBlock).word[element % kWordsPerBlock];
}

// The functions below come out bit by bit the same on every device: they add to a product only by
// fma(), so that no compiler can choose to, and use no library function that is not exact.

/// Returns the natural logarithm of a positive normal number, within 2 ulp: 2 atanh((m - 1) / (m +
/// 1)) of the mantissa, the series up to s^23, where s is below 0.172.
LINKGAIN_BOTH inline double portable_log(double value) {
  int exponent = 0;
  double mantissa = std::frexp(value, &exponent);
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2.0;
    --exponent;
  }
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double square = s * s;
  double series = 1.0 / 23.0;
  for (int odd = 21; odd >= 1; odd -= 2) series = std::fma(series, square, 1.0 / odd);
  return std::fma(static_cast<double>(exponent), 0.69314718055994531, 2.0 * s * series);
}

struct CirclePoint {
  double x;
  double y;
};

/// Returns the point of the unit circle in direction `word` / 2^32 of a turn, less an eighth of
/// one: Taylor series within an eighth to either side, turned by quarters.
LINKGAIN_BOTH inline CirclePoint circle_point(std::uint32_t word) {
  constexpr double kQuarterTurn = 1.5707963267948966;
  const double quarter = static_cast<double>(word & 0x3FFFFFFFU) / 1073741824.0;
  const double angle = (quarter - 0.5) * kQuarterTurn;
  const double square = angle * angle;
  double sine = 1.0;
  double cosine = 1.0;
  for (int n = 16; n >= 2; n -= 2) {
    cosine = std::fma(cosine, -square / (n * (n - 1)), 1.0);
    sine = std::fma(sine, -square / (n * (n + 1)), 1.0);
  }
  sine *= angle;
  switch (word >> 30) {
    case 0:
      return {cosine, sine};
    case 1:
      return {-sine, cosine};
    case 2:
      return {-cosine, -sine};
    default:
      return {sine, -cosine};
  }
}

/// Draws from the standard normal distribution, by Box and Muller: elements 2i and 2i + 1 are the
/// two coordinates of a point. Beyond 6.77 there is none.
LINKGAIN_BOTH inline double random_normal(const RandomSequence& sequence, std::uint64_t element) {
  const RandomWords words = random_block(sequence, element / kWordsPerBlock);
  const int pair = static_cast<int>(element % kWordsPerBlock) / 2 * 2;
  const double uniform = (static_cast<double>(words.word[pair]) + 0.5) / 4294967296.0;
  const double radius = std::sqrt(-2.0 * portable_log(uniform));
  const CirclePoint point = circle_point(words.word[pair + 1]);
  return radius * (element % 2 == 0 ? point.x : point.y);
}

#ifdef __CUDACC__

// random_block()'s words, bit by bit, in fewer instructions: there compilers widen whole rounds to
// 64 bits, of which multiplications take three times as long.

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

/// Returns what random_block() does, on the device.
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

#endif

}  // namespace linkgain::kernels

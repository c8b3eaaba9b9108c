#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/random/model_random.hpp"

namespace linkgain::kernels {

/// Draws the same tokens every time by Zipf's law: token k about in proportion to 1 / (k + 1).
inline std::vector<std::int32_t> zipf_tokens(std::int64_t count, int vocabulary) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < count; ++i) {
    const double uniform = static_cast<double>(mix(static_cast<std::uint64_t>(i)) >> 11) * 0x1p-53;
    tokens.push_back(static_cast<std::int32_t>(std::pow(static_cast<double>(vocabulary), uniform)) -
                     1);
  }
  return tokens;
}

}  // namespace linkgain::kernels

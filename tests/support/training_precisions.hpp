#pragma once

#include <string>

#include "kernels/common/element.hpp"

namespace linkgain::test {

inline constexpr kernels::TrainingPrecision kPrecisions[] = {kernels::TrainingPrecision::fp32,
                                                             kernels::TrainingPrecision::tf32,
                                                             kernels::TrainingPrecision::bf16};

inline std::string text_of(kernels::TrainingPrecision precision) {
  switch (precision) {
    case kernels::TrainingPrecision::fp32:
      return "fp32";
    case kernels::TrainingPrecision::tf32:
      return "tf32";
    case kernels::TrainingPrecision::bf16:
      return "bf16";
  }
  return "none";
}

}  // namespace linkgain::test

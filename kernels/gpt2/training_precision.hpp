#pragma once

namespace linkgain::kernels {

/// How numbers are multiplied: in strict single precision, by TF32 tensor cores on single precision
/// memory, or by bfloat16 tensor cores on bfloat16 memory. Sums are float32 in all three.
enum class TrainingPrecision { fp32, tf32, bf16 };

}  // namespace linkgain::kernels

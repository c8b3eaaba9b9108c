#pragma once

#include <memory>

#include "linkgain/base/units.hpp"
#include "linkgain/gpt2/training_parameters.hpp"
#include "linkgain/model/gpu_options.hpp"
#include "linkgain/model/training_model.hpp"

namespace linkgain {

/// Returns what kernels call it. Throws std::invalid_argument for fp64, which is the CPU
/// reference's.
kernels::TrainingPrecision precision_on_gpu(TrainingPrecision precision);

/// Makes GPT-2 on the current device, which must be current in every later call: what
/// make_reference_model() computes, with the same initial weights and masks, in single precision or
/// with bfloat16 activations; parameters(), gradients(), loss() and squared_norm() are float32 in
/// plain device memory (cudaMalloc). stream() is the model's own and does not wait for the default
/// stream. The host may run ahead of the device by some steps: begin_step() waits where it is more.
/// No other call of a step waits or allocates.
///
/// With measures_products off, or with another model's products, runs repeat bit by bit, on GPUs of
/// one kind with one cuBLASLt. Else two models may multiply by different algorithms
/// (gpu/matrix_product.hpp says when): losses then differ by float32's rounding, less than 1e-5 of
/// them in fp32's first 20 steps. Ranks keep equal parameters nevertheless, as what they update
/// with are the same reduced gradients.
///
/// Products over the padded vocabulary read up to 63 rows behind token_embedding: parameters that
/// follow it, or zeros. Forward masks what comes of them and backward multiplies them with zeros,
/// so they must be finite, nothing more. The gradients behind that of token_embedding are written
/// with zeros first, before they are final.
///
/// Memory: gpu_model_memory(), and 32 MiB for matrix products. Throws UsageError for options that
/// do not fit, or dimensions that no kernel has (channels a multiple of 64, at most 1024; 32 or 64
/// to a head), MachineError where the device lacks bf16 (sm_80) or memory.
std::unique_ptr<TrainingModel> make_gpu_model(const GpuModelOptions& options);

/// Returns what a model of these options allocates on the device, without CUDA's context.
Bytes gpu_model_bytes(const GpuModelOptions& options);

}  // namespace linkgain

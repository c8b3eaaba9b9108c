#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/common/element.hpp"
#include "kernels/common/wait_report.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/gpt2/gpt2_config.hpp"
#include "linkgain/model/training_model.hpp"

namespace linkgain {

/// One kernel's work, or a few kernels' that belong together.
struct StepWork {
  std::string name;       ///< "norm forward", "product 4096 x 2304 x 768 …"
  double operations = 0;  ///< of matrix products; 0 for all else
  Bytes memory{};         ///< least that has to be read and written; 0 for products and attention
};

/// Told of the work of a step as it is enqueued, for profiles: what it records on the model's
/// stream lies between the kernels. It is told nothing of copies of tokens.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  void work_begins(const StepWork& work) { do_work_begins(work); }
  void work_ends() { do_work_ends(); }

 private:
  virtual void do_work_begins(const StepWork& work) = 0;
  virtual void do_work_ends() = 0;
};

struct GpuModelOptions {
  Gpt2Config config;
  BatchShape shape;
  kernels::TrainingPrecision precision = kernels::TrainingPrecision::fp32;
  double dropout = 0.1;    ///< probability at every place, 0 … 1, 1 excluded
  std::uint64_t seed = 0;  ///< of initial weights and dropout
  /// Whether algorithms of matrix products are timed when the model is made, which takes about a
  /// second; without, cuBLASLt's first choice is taken, the same in every process.
  bool measures_products = true;
  /// Algorithms to take instead, as TrainingModel::products() of a model of this shape told them.
  std::vector<std::string> products{};
  kernels::WaitBound bound{};        ///< of kernels whose blocks wait for each other
  StepObserver* observer = nullptr;  ///< not owned; may be null
};

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

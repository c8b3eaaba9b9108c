#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/common/element.hpp"
#include "kernels/common/wait_report.hpp"
#include "linkgain/base/units.hpp"
#include "linkgain/gpt2/gpt2_config.hpp"

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

}  // namespace linkgain

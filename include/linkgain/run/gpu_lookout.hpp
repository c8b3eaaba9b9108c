#pragma once

#include <memory>
#include <string>
#include <vector>

#include "linkgain/hardware/neighbours.hpp"
#include "linkgain/plan/run_plan.hpp"
#include "linkgain/plan/site.hpp"
#include "linkgain/telemetry/error_counters.hpp"

namespace linkgain {

/// NVML's view of those of a run's GPUs that are this host's.
class GpuLookout {
 public:
  /// Looks at none where the plan's backend uses no GPU.
  GpuLookout(const RunPlan& plan, const Site& site);

  /// Looks at each GPU in the order of CUDA's numbers; of one that answers nothing the number alone
  /// is known.
  std::vector<GpuUse> look() const;
  /// Returns gpu_faults() of them.
  std::vector<GpuFault> faults(Seconds since) const { return gpu_faults(gpus_, since); }
  /// Reads their counters of errors: ErrorCounterReader::read().
  ErrorCounts error_counts(Seconds since) { return errors_.read(since); }
  /// Returns why GPUs of the run are left out; empty where none is.
  const std::string& why_not_all() const { return why_not_all_; }

 private:
  std::string why_not_all_;
  std::shared_ptr<Nvml> nvml_;
  NumberedGpus gpus_;
  ErrorCounterReader errors_;
};

}  // namespace linkgain

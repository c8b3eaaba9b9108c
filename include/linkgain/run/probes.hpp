#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "linkgain/record/evidence.hpp"
#include "linkgain/record/record.hpp"
#include "linkgain/run/job.hpp"
#include "linkgain/run/run_plan.hpp"

namespace linkgain {

/// What probes need of the world.
struct ProbeWorld {
  /// Starts a job of a variant whose NCCL logs what it chooses for every call; throws JobLost or
  /// MachineError. Empty where the backend chooses nothing that could be asked for.
  std::function<std::unique_ptr<Job>(int variant)> start;
  /// What the variant's probe logged for each of the plan's cases, in their order.
  std::function<std::vector<TransferPlan>(int variant)> read;
};

/// Short launches, one for each variant, that run every case once and so find out its algorithm and
/// protocol. They are jobs of their own because that log slows calls down. A probe that fails is a
/// warning: the run goes on without the knowledge.
class Probes {
 public:
  /// All must outlive it.
  Probes(const RunPlan& plan, const ProbeWorld& world,
         const std::function<void(const Warning&)>& warn);

  /// Starts the probes of these variants, which come up while the caller does other things.
  void start(const std::vector<int>& variants);
  /// Has what was started run every case and asks it to end. Throws Interrupted.
  void run();
  /// Does that where it was not done, waits until what ran is gone and reads its logs. Warns of the
  /// probes that failed, but for variants whose job `gave_up` too. Throws Interrupted.
  void finish(const std::vector<bool>& gave_up);

  /// default_plan() of the case where no probe found one.
  TransferPlan plan_of(int variant, int case_index) const;

 private:
  struct Started {
    int variant = 0;
    std::unique_ptr<Job> job;
    bool over = false;  ///< has run its cases and was asked to end
  };

  void run_cases(Job& job) const;
  /// Calls step(probe) for each; one that it fails for is dropped and noted.
  template <typename Step>
  void for_each(Step step);

  const RunPlan& plan_;
  const ProbeWorld& world_;
  const std::function<void(const Warning&)>& warn_;
  std::vector<Started> started_;
  std::map<int, Warning> failures_;               ///< by variant
  std::vector<std::vector<TransferPlan>> plans_;  ///< by variant and case; empty: not found
};

}  // namespace linkgain

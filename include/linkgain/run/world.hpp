#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/base/temporary_folder.hpp"
#include "linkgain/hardware/neighbours.hpp"
#include "linkgain/jobs/job.hpp"
#include "linkgain/plan/run_plan.hpp"
#include "linkgain/plan/site.hpp"
#include "linkgain/process/job_reaper.hpp"
#include "linkgain/process/signals.hpp"
#include "linkgain/run/run_directory.hpp"
#include "linkgain/telemetry/error_counters.hpp"
#include "linkgain/telemetry/host.hpp"

namespace linkgain {

/// What a run needs of the world; tests give doubles.
class RunWorld {
 public:
  virtual ~RunWorld() = default;

  /// Starts the job of a variant for a launch; throws JobLost or MachineError.
  virtual std::unique_ptr<Job> start_job(int variant, int launch) = 0;
  /// Finds the path that the variant's messages have taken so far in this launch, and take with
  /// NCCL's `algorithm` where it is named.
  virtual Path find_path(int variant, int launch, const protocol::HelloReply& hello,
                         Algorithm algorithm) = 0;
  virtual Seconds now() const = 0;  ///< monotonic
  /// Looks at the use of those of the run's GPUs that are this host's now: one entry each, always
  /// in the same order; none where the driver cannot be asked.
  virtual std::vector<GpuUse> look_at_gpus() = 0;
  /// Says why look_at_gpus() leaves GPUs out; empty if it has all.
  virtual std::string why_not_all_gpus() const = 0;
  /// Reads those GPUs' counters of errors; Xid errors count from a moment on.
  virtual ErrorCounts error_counts_of_gpus(Seconds /*since*/) { return {}; }
  /// Finds what is wrong with those GPUs, of Xid errors only later ones than this.
  virtual std::vector<GpuFault> faults_of_gpus(Seconds /*since*/) { return {}; }
  /// Reads what this host's processors did so far, and these processes of it.
  virtual HostLoad load_of_host(const std::vector<std::int64_t>& pids) = 0;
  /// Has `tick` called each second while an answer of a job that is started later is awaited.
  virtual void while_waiting(std::function<void()> /*tick*/) {}
  /// Lets time pass; throws Interrupted where a signal comes.
  virtual void rest(Seconds time) = 0;
};

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

/// Jobs that a launcher starts, what NCCL logs into the run's directory, and this machine's clock.
/// What it is given must outlive it.
class LaunchedWorld : public RunWorld {
 public:
  /// Throws UsageError where there is no place for temporary files, MachineError where no
  /// descriptor is left.
  LaunchedWorld(const RunOptions& options, const RunPlan& plan, const Site& site,
                RunDirectory& directory, const SignalWatch& watch);

  std::unique_ptr<Job> start_job(int variant, int launch) override;
  Path find_path(int variant, int launch, const protocol::HelloReply& hello,
                 Algorithm algorithm) override;
  Seconds now() const override;
  std::vector<GpuUse> look_at_gpus() override { return gpus_.look(); }
  std::string why_not_all_gpus() const override { return gpus_.why_not_all(); }
  ErrorCounts error_counts_of_gpus(Seconds since) override { return gpus_.error_counts(since); }
  std::vector<GpuFault> faults_of_gpus(Seconds since) override { return gpus_.faults(since); }
  HostLoad load_of_host(const std::vector<std::int64_t>& pids) override {
    return read_host_load(pids);
  }
  void while_waiting(std::function<void()> tick) override { tick_ = std::move(tick); }
  void rest(Seconds time) override;

 private:
  LaunchRequest request_for(const Variant& variant, int launch) const;

  const RunOptions& options_;
  const RunPlan& plan_;
  RunDirectory& directory_;
  const SignalWatch& watch_;
  JobReaper reaper_;
  GpuLookout gpus_;
  std::function<void()> tick_ = [] {};
  TemporaryFolder sessions_;  ///< Open MPI's, one for each job
  int started_ = 0;           ///< jobs
};

}  // namespace linkgain

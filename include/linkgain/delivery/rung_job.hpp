#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "linkgain/delivery/delivery_proof.hpp"
#include "linkgain/process/process.hpp"
#include "linkgain/telemetry/nccl_log.hpp"

namespace linkgain {

/// One rung between two GPUs: two ranks of linkgain-bench, from their start to their end.
class RungJob {
 public:
  /// Starts the job between two CUDA devices; `folder` is its own. Under load it works for that
  /// long. That it could not be started is its result.
  RungJob(ProofRung rung, int first, int second, Seconds load_time, std::filesystem::path folder);

  /// Waits until data are to go, from which on its time counts. Throws Interrupted.
  void wait_for_begin(const SignalWatch& watch);

  /// Waits until it has ended or has had its time. Throws Interrupted.
  RungResult result(const SignalWatch& watch);

 private:
  bool reads_line(const SignalWatch& watch);
  RungResult judge(const std::optional<ProcessEnd>& end) const;
  RungResult on_its_path(const std::string& seen) const;
  std::string reason(const ProcessEnd& end) const;
  std::vector<std::string> nccls_diagnosis() const;

  ProofRung rung_;
  std::filesystem::path folder_;
  Seconds limit_;  ///< from the time on when data are to go
  Deadline deadline_;
  bool has_begun_ = false;
  Reading<Delivery> delivery_;
  std::string said_;
  NcclLogFiles nccl_logs_;
  std::unique_ptr<Process> process_;  ///< null where it could not be started
  std::string failure_;               ///< and why
};

}  // namespace linkgain

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/diagnostics/finding.hpp"
#include "linkgain/diagnostics/survey.hpp"

namespace linkgain {

using Findings = std::vector<Finding>;

/// Makes the finding of one check of one subject.
class Check {
 public:
  Check(CheckGroup group, std::string id, std::string subject)
      : group_(group), id_(std::move(id)), subject_(std::move(subject)) {}

  Finding ok(std::string value) const { return finding(CheckVerdict::ok, std::move(value)); }
  Finding warning(std::string value, std::string why, std::string advice) const;
  Finding problem(std::string value, std::string why, std::string advice) const;
  /// `reason`: why nothing can be said; `advice`: what would change that, where something would.
  Finding not_checkable(std::string reason, std::string advice = {}) const;

 private:
  Finding finding(CheckVerdict verdict, std::string value, std::string why = {},
                  std::string advice = {}) const;

  CheckGroup group_;
  std::string id_;
  std::string subject_;
};

/// NVML's clock-event bit of a GPU that has nothing to do.
inline constexpr std::uint64_t kIdle = 0x1;

/// The subject of checks of the machine as a whole.
inline constexpr const char* kHost = "host";

/// "GPU0"
std::string subject_of(const GpuSurvey& gpu);
/// Null where the topology lacks the GPU.
const TopologyGpu* links_of(const Survey& survey, const GpuSurvey& gpu);
/// The GPUs that the driver reaches.
std::vector<GpuSurvey> reachable(const Survey& survey);
/// Clock events now and, where there was one, during the load.
Reading<std::uint64_t> all_clock_events(const GpuSurvey& gpu);
/// When those were looked for: "while host copies ran" or "now".
std::string when_events(const GpuSurvey& gpu);
/// What the GPUs do under `--load`: the SMs stay idle.
inline constexpr const char* kWhileCopying = "while host copies ran";
/// CUDA devices that a run would use: those that are visible; all GPUs where that is not known.
int visible_gpus(const Survey& survey);

/// Each appends what it found.
void check_gpus(const Survey& survey, Findings& findings);
void check_power(const Survey& survey, Findings& findings);
void check_cooling(const Survey& survey, Findings& findings);
void check_nvlink(const Survey& survey, Findings& findings);
void check_p2p(const Survey& survey, Findings& findings);
void check_delivery(const Survey& survey, Findings& findings);
void check_pcie(const Survey& survey, Findings& findings);
void check_host(const Survey& survey, Findings& findings);
void check_kernel_log(const Survey& survey, Findings& findings);
void check_software(const Survey& survey, Findings& findings);
void check_nccl_settings(const Survey& survey, Findings& findings);
void check_cuda_variables(const Survey& survey, Findings& findings);

}  // namespace linkgain

#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "faults.hpp"
#include "linkgain/diagnostics/check_catalog.hpp"
#include "linkgain/diagnostics/survey.hpp"
#include "linkgain/hardware/nccl_choice.hpp"

namespace linkgain {

using Findings = std::vector<Finding>;

/// The subject of checks of the machine as a whole.
inline constexpr const char* kHost = "host";

/// Makes the finding of one check of one subject.
class Check {
 public:
  /// What stands for {name} in the texts of a fault.
  using Fill = std::vector<std::pair<std::string_view, std::string>>;

  explicit Check(std::string_view id, std::string subject = kHost)
      : entry_(find_check(id)), subject_(std::move(subject)) {}

  Finding ok(FindingValue value) const { return finding(CheckVerdict::ok, std::move(value)); }
  /// Says why nothing can be said.
  Finding not_checkable(FindingValue reason) const {
    return finding(CheckVerdict::not_checkable, std::move(reason));
  }
  /// Takes verdict, reason and advice from the catalog.
  Finding found(const Fault& fault, FindingValue value, const Fill& fill = {}) const;

 private:
  Finding finding(CheckVerdict verdict, FindingValue value) const {
    return {entry_.group, std::string(entry_.id), subject_, verdict, std::move(value), {}, {}};
  }

  const CheckEntry& entry_;
  std::string subject_;
};

/// NVML's clock-event bit of a GPU that has nothing to do.
inline constexpr std::uint64_t kIdle = 0x1;

/// Shows a number of things alone: "17".
FindingValue number(std::string name, std::integral auto count) {
  return quantity(std::move(name), Unit::count, static_cast<double>(count));
}
/// Shows it with what is counted: "1 GPU", "2 GPUs".
FindingValue counted_of(std::string name, std::int64_t count, const char* one, const char* more);

/// Says "GPU0".
std::string subject_of(const GpuSurvey& gpu);
/// Gives null where the topology lacks the GPU.
const TopologyGpu* links_of(const Survey& survey, const GpuSurvey& gpu);
/// Gives the GPUs that the driver reaches.
std::vector<GpuSurvey> reachable(const Survey& survey);
/// Gives clock events now and, where there was one, during the load.
Reading<std::uint64_t> all_clock_events(const GpuSurvey& gpu);
/// Says when those were looked for: "while host copies ran" or "now".
std::string when_events(const GpuSurvey& gpu);
/// What the GPUs do under `--load`: the SMs stay idle.
inline constexpr const char* kWhileCopying = "while host copies ran";
/// Counts the CUDA devices that a run would use: those that are visible; all GPUs where that is not
/// known.
int visible_gpus(const Survey& survey);

/// Appends what the checks of GPUs found; the others do the same.
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

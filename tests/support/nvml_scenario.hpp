#pragma once

#include <memory>
#include <string>

#include "linkgain/telemetry/nvml.hpp"
#include "scoped_environment.hpp"

namespace linkgain::test {

/// NVML as one of the doubles answers for one scenario, for as long as this lives. `library` is the
/// double's file name; nvml_double.hpp lists the scenarios and the counters' steps.
class NvmlScenario {
 public:
  NvmlScenario(const std::string& scenario, const std::string& library,
               const std::string& counter_step = "0", const std::string& pcie_step = "0")
      : library_("LINKGAIN_NVML_LIBRARY", library),
        scenario_("LINKGAIN_NVML_SCENARIO", scenario),
        counter_step_("LINKGAIN_NVML_COUNTER_STEP", counter_step),
        pcie_step_("LINKGAIN_NVML_PCIE_STEP", pcie_step),
        nvml_(Nvml::open(&reason_)) {}

  /// Returns null if it did not open; reason() then says why.
  const std::shared_ptr<Nvml>& nvml() const { return nvml_; }
  const std::string& reason() const { return reason_; }
  /// Throws where there is no such GPU.
  Nvml::Device gpu(int index) const { return nvml_->device_by_index(index).value(); }

 private:
  std::string reason_;
  ScopedEnvironment library_;
  ScopedEnvironment scenario_;
  ScopedEnvironment counter_step_;
  ScopedEnvironment pcie_step_;
  std::shared_ptr<Nvml> nvml_;
};

inline GpuInfo links_of(const Nvml::Device& gpu) {
  GpuInfo info;
  gpu.read_links(info);
  return info;
}

}  // namespace linkgain::test

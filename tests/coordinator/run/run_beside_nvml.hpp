#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linkgain/run/world.hpp"
#include "run_support.hpp"
#include "support/process_support.hpp"
#include "support/scoped_environment.hpp"

namespace linkgain::test {

/// A run of fake jobs on two GPUs that NVML's double shows, whose counters of errors may grow at
/// one of the readings: the first is before the first launch, and there is one after each.
class RunBesideNvml : public ::testing::Test {
 protected:
  explicit RunBesideNvml(std::vector<FakeScript> scripts) : bench_(std::move(scripts)) {
    unsetenv("CUDA_VISIBLE_DEVICES");
    bench_.plan.backend = BackendKind::nccl;
    bench_.error_counts = [this] {
      if (++readings_ == grows_at_) std::ofstream(file_) << errors_by_then_;
      return lookout_->error_counts(Seconds{0.0});
    };
    bench_.use_of_gpus = [](double) {
      return std::vector<GpuUse>{{0, 0.0, std::vector<GpuProcess>{}, 0}};
    };
  }

  /// Sets --require-healthy afterwards.
  void execute() {
    lookout_.emplace(bench_.plan, survey_site(std::nullopt));
    bench_.execute();
    bench_.record.settings.require_healthy = true;
  }

  ScratchFolder folder_;
  std::filesystem::path file_ = folder_ / "errors";
  ScopedEnvironment library_{"LINKGAIN_NVML_LIBRARY", NVML_DOUBLE};
  ScopedEnvironment scenario_{"LINKGAIN_NVML_SCENARIO", "rtx3090-nv4"};
  ScopedEnvironment errors_{"LINKGAIN_NVML_ERRORS", file_};
  ScopedEnvironment visible_{"CUDA_VISIBLE_DEVICES", ""};
  ScopedEnvironment order_{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"};
  RunBench bench_;
  std::optional<GpuLookout> lookout_;
  std::string errors_by_then_;  ///< as NVML's double reads them
  int grows_at_ = 0;            ///< 0: never
  int readings_ = 0;
};

}  // namespace linkgain::test

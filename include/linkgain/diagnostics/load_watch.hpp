#pragma once

#include <memory>
#include <vector>

#include "linkgain/diagnostics/survey.hpp"

namespace linkgain {

/// Watches the surveyed GPUs while copies between them and the host run.
class LoadWatch {
 public:
  explicit LoadWatch(const Survey& survey);

  /// One look at every GPU: about 30 us each.
  void look();

  /// Puts what was seen into the survey of every GPU that CUDA sees; of the others nothing was
  /// asked, and the reason says so.
  void put_into(Survey& survey) const;

 private:
  struct Watched {
    int index;
    Nvml::Device device;
    GpuLoad seen;
  };
  std::shared_ptr<Nvml> nvml_;
  std::vector<Watched> gpus_;
};

}  // namespace linkgain

#include "linkgain/diagnostics/load_watch.hpp"

#include <algorithm>

namespace linkgain {
namespace {

template <typename T>
void keep_highest(Reading<T>& kept, const Reading<T>& seen) {
  if (!seen.measured()) {
    if (!kept.measured()) kept = seen;
    return;
  }
  kept = kept.measured() ? std::max(kept.value(), seen.value()) : seen.value();
}

Reading<double> draw_of(const Reading<PowerState>& power) {
  if (!power.measured()) return Reading<double>::missing(power.reason());
  return power.value().draw_w;
}

/// Empty where CUDA sees the GPU.
std::string why_hidden(const Survey& survey, int index) {
  const auto gpu = std::ranges::find(survey.topology.gpus, index, &TopologyGpu::index);
  if (gpu == survey.topology.gpus.end() || gpu->cuda_index.measured()) return {};
  return gpu->cuda_index.reason();
}

}  // namespace

LoadWatch::LoadWatch(const Survey& survey) : nvml_(Nvml::open()) {
  if (!nvml_) return;
  for (const GpuSurvey& gpu : survey.gpus) {
    const auto device = nvml_->device_by_index(gpu.index);
    if (device && gpu.lost.empty()) gpus_.push_back({gpu.index, *device, {}});
  }
}

void LoadWatch::look() {
  for (Watched& gpu : gpus_) {
    const PcieInfo pcie = gpu.device.pcie();
    keep_highest(gpu.seen.pcie_generation, pcie.generation);
    keep_highest(gpu.seen.pcie_width, pcie.width);
    keep_highest(gpu.seen.highest_temperature_c, gpu.device.temperature_c());
    keep_highest(gpu.seen.highest_power_w, draw_of(gpu.device.power()));
    const Reading<std::uint64_t> events = gpu.device.clock_event_reasons();
    if (events.measured()) {
      gpu.seen.clock_events = gpu.seen.clock_events.value_or(0) | events.value();
    } else if (!gpu.seen.clock_events.measured()) {
      gpu.seen.clock_events = events;
    }
  }
}

void LoadWatch::put_into(Survey& survey) const {
  for (GpuSurvey& gpu : survey.gpus) {
    const auto watched = std::ranges::find(gpus_, gpu.index, &Watched::index);
    const std::string hidden = why_hidden(survey, gpu.index);
    if (!hidden.empty()) {
      gpu.load = Reading<GpuLoad>::missing("had no work: " + hidden);
    } else if (watched == gpus_.end()) {
      gpu.load = Reading<GpuLoad>::missing("could not be watched");
    } else {
      gpu.load = watched->seen;
    }
  }
}

}  // namespace linkgain

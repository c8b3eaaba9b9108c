#include <algorithm>

#include "linkgain/runtime/engine.hpp"
#include "linkgain/telemetry/host.hpp"
#include "linkgain/telemetry/nvml.hpp"

namespace linkgain {
namespace {

/// Long enough for a GPU to rise from its idle clock.
constexpr Seconds kFirstTime{0.15};
/// A GPU left alone for longer may have fallen back.
constexpr Seconds kRested{0.1};
constexpr Seconds kAgain{0.02};
/// Below this share of the highest SM clock seen, it is not at its working clock.
constexpr double kWorkingShare = 0.9;
/// A GPU that is held down by heat or power must not be kept busy for ever.
constexpr int kMostRepeats = 5;

}  // namespace

DeviceMonitor::DeviceMonitor(const std::optional<GpuInfo>& gpu) {
  if (!gpu) return;
  nvml_ = Nvml::open(&no_device_);
  if (!nvml_) return;
  device_ = nvml_->device_by_pci_bus_id(gpu->pci_bus_id);
  if (!device_) no_device_ = "NVML knows no GPU at " + gpu->pci_bus_id;
}

Health DeviceMonitor::health() const { return device_ ? device_->health() : Health{}; }

std::optional<int> DeviceMonitor::sm_clock_mhz() const {
  return device_ ? device_->sm_clock_mhz() : std::nullopt;
}

LinkCounters DeviceMonitor::link_counters(AbsentCounters& why) const {
  if (device_) return device_->link_counters(&why);
  why = {no_device_, no_device_};
  return {};
}

void DeviceMonitor::complete(GpuInfo& gpu) const {
  if (!device_) return;
  device_->read_links(gpu);
  device_->read_limits(gpu);
}

std::optional<std::string> DeviceMonitor::driver_version() const {
  return nvml_ ? nvml_->driver_version() : std::nullopt;
}

std::vector<PairLink> DeviceMonitor::links(const std::vector<RankInfo>& ranks) const {
  std::vector<const RankInfo*> with_gpu;
  std::vector<std::optional<Nvml::Device>> devices;
  for (const RankInfo& rank : ranks) {
    if (!rank.gpu) continue;
    with_gpu.push_back(&rank);
    // Other hosts have GPUs at the same places, of which this host's driver knows nothing.
    const bool here = rank.host == host_name();
    devices.push_back(nvml_ && here ? nvml_->device_by_pci_bus_id(rank.gpu->pci_bus_id)
                                    : std::nullopt);
  }
  std::vector<PairLink> links = links_between(devices);
  for (PairLink& link : links) {
    link.from = with_gpu[static_cast<std::size_t>(link.from)]->rank;
    link.to = with_gpu[static_cast<std::size_t>(link.to)]->rank;
  }
  return links;
}

void ClockKeeper::prepare(const std::optional<Seconds>& rested) {
  std::optional<Seconds> rest = rested;
  if (last_work_) {
    const Seconds own{std::chrono::duration<double>(Clock::now() - *last_work_).count()};
    rest = rest ? std::min(*rest, own) : own;
  }
  if (!rest || *rest > kRested) backend_.keep_busy(last_work_ ? kAgain : kFirstTime);
  for (int i = 0; i < kMostRepeats; ++i) {
    const int clock = monitor_.sm_clock_mhz().value_or(highest_mhz_);
    highest_mhz_ = std::max(highest_mhz_, clock);
    if (clock >= kWorkingShare * highest_mhz_) break;
    backend_.keep_busy(kAgain);
  }
  last_work_ = Clock::now();
}

}  // namespace linkgain

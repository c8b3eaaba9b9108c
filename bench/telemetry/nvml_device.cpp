#include <algorithm>

#include "linkgain/telemetry/nvml.hpp"
#include "nvml_library.hpp"

namespace linkgain {
namespace {

using nvml_api::ComputeMode;
using nvml_api::EnableState;
using nvml_api::kSuccess;
using nvml_api::P2pCapability;
using nvml_api::P2pStatus;

constexpr double kMilliwattsPerWatt = 1000.0;

/// The value of an NVML function of the form function(device, ..., unsigned int*).
template <typename Function, typename... Arguments>
std::optional<int> read_number(const Function& function, Arguments... arguments) {
  unsigned int value = 0;
  if (function(arguments..., &value) != kSuccess) {
    return std::nullopt;
  }
  return static_cast<int>(value);
}

template <typename Function>
std::optional<std::string> read_text(const Function& function, nvml_api::Handle device) {
  nvml_api::Text text{};
  if (function(device, text.data(), static_cast<unsigned int>(text.size())) != kSuccess) {
    return std::nullopt;
  }
  return text.data();
}

/// True or false only where the driver knows.
template <typename Function>
std::optional<bool> read_p2p(const Function& function, nvml_api::Handle from, nvml_api::Handle to,
                             P2pCapability capability) {
  P2pStatus status = P2pStatus::unknown;
  if (function(from, to, capability, &status) != kSuccess || status == P2pStatus::unknown) {
    return std::nullopt;
  }
  return status == P2pStatus::ok;
}

std::optional<bool> both(std::optional<bool> a, std::optional<bool> b) {
  if (a == false || b == false) {
    return false;
  }
  return a.has_value() && b.has_value() ? std::optional(true) : std::nullopt;
}

/// The version of the first link that tells: a link that is down may not.
template <typename Function>
std::optional<int> read_nvlink_version(const Function& function, nvml_api::Handle device,
                                       unsigned int links) {
  std::optional<int> version;
  for (unsigned int link = 0; link < links && !version.has_value(); ++link) {
    version = read_number(function, device, link);
  }
  return version;
}

struct LinkStates {
  int answered = 0;
  int active = 0;
};

template <typename Function>
LinkStates read_link_states(const Function& function, nvml_api::Handle device, unsigned int most) {
  LinkStates states;
  for (unsigned int link = 0; link < most; ++link) {
    EnableState state = EnableState::off;
    if (function(device, link, &state) != kSuccess) {
      break;
    }
    ++states.answered;
    states.active += state == EnableState::on ? 1 : 0;
  }
  return states;
}

}  // namespace

std::optional<std::string> Nvml::Device::name() const { return read_text(library_->name, handle_); }

std::optional<std::string> Nvml::Device::uuid() const { return read_text(library_->uuid, handle_); }

std::optional<std::int64_t> Nvml::Device::memory_bytes() const {
  nvml_api::Memory memory;
  if (library_->memory_info(handle_, &memory) != kSuccess) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(memory.total);
}

std::optional<bool> Nvml::Device::exclusive_compute_mode() const {
  ComputeMode mode = ComputeMode::shared;
  if (library_->compute_mode(handle_, &mode) != kSuccess) {
    return std::nullopt;
  }
  return mode == ComputeMode::exclusive_process || mode == ComputeMode::exclusive_thread;
}

Health Nvml::Device::health() const {
  Health health;
  health.temperature_c =
      read_number(library_->temperature, handle_, nvml_api::TemperatureSensor::gpu);
  if (const std::optional<int> milliwatts = read_number(library_->power_usage, handle_)) {
    health.power_w = *milliwatts / kMilliwattsPerWatt;
  }
  health.sm_clock_mhz = sm_clock_mhz();
  unsigned long long reasons = 0;
  if (library_->clock_event_reasons(handle_, &reasons) == kSuccess) {
    health.clock_event_reasons = reasons;
  }
  return health;
}

std::optional<int> Nvml::Device::sm_clock_mhz() const {
  return read_number(library_->clock_info, handle_, nvml_api::ClockType::sm);
}

void Nvml::Device::read_links(GpuInfo& gpu) const {
  gpu.pcie_generation = read_number(library_->pcie_generation, handle_);
  gpu.pcie_width = read_number(library_->pcie_width, handle_);

  const std::optional<long long> count =
      library_->field(handle_, nvml_api::kFieldNvlinkLinkCount, 0);
  const long long most = nvml_api::kMostNvlinks;
  const auto links = static_cast<unsigned int>(std::clamp(count.value_or(most), 0LL, most));
  const LinkStates states = read_link_states(library_->nvlink_state, handle_, links);
  gpu.nvlink_links.reset();
  gpu.nvlink_links_active.reset();
  if (count.has_value()) {
    gpu.nvlink_links = static_cast<int>(*count);
  } else if (states.answered > 0) {
    gpu.nvlink_links = states.answered;
  }
  if (states.answered > 0 || count == 0) {
    gpu.nvlink_links_active = states.active;
  }
  gpu.nvlink_version = read_nvlink_version(library_->nvlink_version, handle_, links);
}

PairLink Nvml::Device::link_to(const Device& peer) const {
  const auto& status = library_->p2p_status;
  PairLink link;
  link.p2p = both(read_p2p(status, handle_, peer.handle_, P2pCapability::read),
                  read_p2p(status, handle_, peer.handle_, P2pCapability::write));
  link.nvlink = read_p2p(status, handle_, peer.handle_, P2pCapability::nvlink);
  return link;
}

}  // namespace linkgain

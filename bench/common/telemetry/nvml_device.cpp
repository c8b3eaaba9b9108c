#include "linkgain/telemetry/nvml.hpp"
#include "nvml_library.hpp"
#include "nvml_readings.hpp"

namespace linkgain {
namespace {

using nvml_api::ComputeMode;
using nvml_api::kSuccess;
using nvml_readings::kMilliwattsPerWatt;

/// The value of an NVML function of the form function(device, ..., unsigned int*), without a
/// reason: for the readings that go with every sample.
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

}  // namespace

std::string Nvml::Device::silence() const {
  const auto id = library_->read<nvml_api::PciInfo>(library_->pci_info, handle_);
  nvml_api::Text text{};
  const nvml_api::Result named =
      library_->name(handle_, text.data(), static_cast<unsigned int>(text.size()));
  if (id.measured() || named == kSuccess) return {};
  if (library_->pci_info.found()) return id.reason();
  return library_->name.found() ? library_->why(library_->name, named) : std::string();
}

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

Reading<std::string> Nvml::Device::pci_bus_id() const {
  return nvml_readings::convert<std::string>(
      library_->read<nvml_api::PciInfo>(library_->pci_info, handle_), nvml_readings::pci_bus_id);
}

}  // namespace linkgain

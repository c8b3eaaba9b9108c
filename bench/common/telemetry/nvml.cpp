#include "linkgain/telemetry/nvml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "nvml_library.hpp"

namespace linkgain {
namespace {

/// Names another library to load, for tests and for drivers installed in unusual places.
constexpr const char* kLibraryVariable = "LINKGAIN_NVML_LIBRARY";
constexpr const char* kLibraryName = "libnvidia-ml.so.1";

std::string library_name() {
  const char* name = std::getenv(kLibraryVariable);
  return name != nullptr && *name != '\0' ? name : kLibraryName;
}

/// Returns whether the name is no regular file but a pipe, say, which would be waited for. What is
/// not there dlopen() says itself, which looks for a name without a folder.
bool is_no_regular_file(const std::string& name) {
  std::error_code error;
  return name.find('/') != std::string::npos && std::filesystem::exists(name, error) &&
         !std::filesystem::is_regular_file(name, error);
}

using nvml_api::ComputeMode;
using nvml_api::kSuccess;

constexpr double kMilliwattsPerWatt = 1000.0;

/// Returns the value of an NVML function of the form function(device, ..., unsigned int*), without
/// a reason: for the readings that go with every sample.
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

Reading<ComputeModeName> to_name(ComputeMode mode) {
  switch (mode) {
    case ComputeMode::shared:
      return ComputeModeName::shared;
    case ComputeMode::exclusive_thread:
      return ComputeModeName::exclusive_thread;
    case ComputeMode::prohibited:
      return ComputeModeName::prohibited;
    case ComputeMode::exclusive_process:
      return ComputeModeName::exclusive_process;
  }
  return Missing{fmt::format("the driver's answer ({}) is not known to this version of linkgain",
                             static_cast<int>(mode))};
}

double to_watts(unsigned int milliwatts) { return milliwatts / kMilliwattsPerWatt; }

/// Returns a clock in MHz; 0 is what some drivers say where there is none.
std::optional<int> clock_of(const Reading<unsigned int>& megahertz) {
  return megahertz.value_or(0) == 0 ? std::nullopt : to_int(megahertz).optional();
}

}  // namespace

std::shared_ptr<Nvml> Nvml::open(std::string* reason, std::string* advice) {
  std::string why;
  std::string what_to_do;
  const std::string name = library_name();
  std::unique_ptr<NvmlLibrary> library;
  if (is_no_regular_file(name)) {
    why = name + " is no regular file";
  } else {
    library = NvmlLibrary::load(name, why, what_to_do);
  }
  if (!library) {
    if (reason != nullptr) *reason = why;
    if (advice != nullptr) *advice = what_to_do;
    return nullptr;
  }
  return std::shared_ptr<Nvml>(new Nvml(std::move(library)));
}

void refuse_without_gpus(std::string reason) {
  std::string advice;
  Nvml::open(&reason, &advice);
  throw without_two_gpus(reason, advice);
}

Nvml::Nvml(std::unique_ptr<NvmlLibrary> library) : library_(std::move(library)) {}

Nvml::~Nvml() = default;

std::optional<std::string> Nvml::driver_version() const {
  nvml_api::Text text{};
  if (library_->driver_version(text.data(), text.size()) != nvml_api::kSuccess) {
    return std::nullopt;
  }
  return text.data();
}

std::string Nvml::cuda_version() const {
  int version = 0;
  if (library_->cuda_driver_version(&version) != nvml_api::kSuccess) return {};
  return cuda_version_text(version);
}

int Nvml::device_count() const {
  unsigned int count = 0;
  return library_->device_count(&count) == nvml_api::kSuccess ? static_cast<int>(count) : 0;
}

std::optional<Nvml::Device> Nvml::device_by_index(int index, std::string* reason) const {
  nvml_api::Handle handle = nullptr;
  const nvml_api::Result result =
      library_->handle_by_index(static_cast<unsigned int>(index), &handle);
  if (result == nvml_api::kSuccess) {
    return Device(library_.get(), handle);
  }
  if (reason != nullptr) {
    *reason = library_->why(library_->handle_by_index, result);
  }
  return std::nullopt;
}

std::optional<Nvml::Device> Nvml::device_by_pci_bus_id(const std::string& pci_bus_id) const {
  nvml_api::Handle handle = nullptr;
  if (library_->handle_by_pci_bus_id(pci_bus_id.c_str(), &handle) != nvml_api::kSuccess) {
    return std::nullopt;
  }
  return Device(library_.get(), handle);
}

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

std::optional<std::int64_t> Nvml::Device::free_memory_bytes() const {
  nvml_api::Memory memory;
  if (library_->memory_info(handle_, &memory) != kSuccess) return std::nullopt;
  return static_cast<std::int64_t>(memory.free);
}

std::optional<int> Nvml::Device::sm_architecture() const {
  int major = 0;
  int minor = 0;
  if (library_->compute_capability(handle_, &major, &minor) != kSuccess) return std::nullopt;
  return major * 10 + minor;
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

Reading<PowerState> Nvml::Device::power() const {
  const NvmlLibrary& nvml = *library_;
  const auto draw = nvml.read<unsigned int>(nvml.power_usage, handle_);
  if (!draw.measured()) {
    return draw.missing();
  }
  const auto limit = nvml.read<unsigned int>(nvml.power_limit, handle_);
  const auto default_limit = nvml.read<unsigned int>(nvml.default_power_limit, handle_);
  PowerState power;
  power.draw_w = to_watts(draw.value());
  power.limit_w = convert<double>(limit, to_watts).optional();
  power.default_limit_w = convert<double>(default_limit, to_watts).optional();
  unsigned int least = 0;
  unsigned int most = 0;
  if (nvml.power_limit_constraints(handle_, &least, &most) == kSuccess) {
    power.most_limit_w = to_watts(most);
  }
  return power;
}

void Nvml::Device::read_limits(GpuInfo& gpu) const {
  const NvmlLibrary& nvml = *library_;
  const auto read = [&](const auto& function, nvml_api::ClockType type) {
    return clock_of(nvml.read<unsigned int>(function, handle_, type));
  };
  gpu.most_sm_clock_mhz = read(nvml.most_clock, nvml_api::ClockType::sm);
  gpu.application_clock_mhz = read(nvml.application_clock, nvml_api::ClockType::graphics);
  gpu.most_custom_boost_clock_mhz =
      read(nvml.most_custom_boost_clock, nvml_api::ClockType::graphics);
  const auto limit = nvml.read<unsigned int>(nvml.power_limit, handle_);
  gpu.power_limit_w = convert<double>(limit, to_watts).optional();
}

Reading<int> Nvml::Device::temperature_c() const {
  return to_int(library_->read<unsigned int>(library_->temperature, handle_,
                                             nvml_api::TemperatureSensor::gpu));
}

Reading<int> Nvml::Device::slowdown_temperature_c() const {
  return to_int(library_->read<unsigned int>(library_->temperature_threshold, handle_,
                                             nvml_api::TemperatureThreshold::slowdown));
}

Reading<bool> Nvml::Device::persistence_mode() const {
  return convert<bool>(
      library_->read<nvml_api::EnableState>(library_->persistence_mode, handle_),
      [](nvml_api::EnableState state) { return state == nvml_api::EnableState::on; });
}

Reading<ComputeModeName> Nvml::Device::compute_mode() const {
  const auto mode = library_->read<ComputeMode>(library_->compute_mode, handle_);
  return mode.measured() ? to_name(mode.value()) : mode.missing();
}

Reading<bool> Nvml::Device::mig_mode() const {
  auto now = nvml_api::EnableState::off;
  auto after_reset = nvml_api::EnableState::off;
  const nvml_api::Result result = library_->mig_mode(handle_, &now, &after_reset);
  if (result != kSuccess) return Missing{library_->why(library_->mig_mode, result)};
  return now == nvml_api::EnableState::on;
}

Reading<std::uint64_t> Nvml::Device::clock_event_reasons() const {
  return convert<std::uint64_t>(
      library_->read<unsigned long long>(library_->clock_event_reasons, handle_),
      [](unsigned long long reasons) { return std::uint64_t{reasons}; });
}

Reading<double> Nvml::Device::busy_percent() const {
  return convert<double>(
      library_->read<nvml_api::Utilization>(library_->utilization, handle_),
      [](const nvml_api::Utilization& rates) { return static_cast<double>(rates.gpu); });
}

Reading<std::vector<GpuProcess>> Nvml::Device::processes() const {
  const NvmlLibrary& nvml = *library_;
  // Half of the room is told of: drivers 535.43 to 535.86 write 32 bytes an entry instead of 24.
  std::vector<nvml_api::ProcessInfo> infos(64);
  auto count = static_cast<unsigned int>(infos.size() / 2);
  nvml_api::Result result = nvml.compute_processes(handle_, &count, infos.data());
  // More may come while we make room.
  for (int i = 0; result == nvml_api::kInsufficientSize && i < 3; ++i) {
    infos.resize(std::size_t{4} * std::max<std::size_t>(count, infos.size()));
    count = static_cast<unsigned int>(infos.size() / 2);
    result = nvml.compute_processes(handle_, &count, infos.data());
  }
  if (result != kSuccess) {
    return Missing{nvml.why(nvml.compute_processes, result)};
  }
  infos.resize(count);
  std::vector<GpuProcess> processes;
  for (const nvml_api::ProcessInfo& info : infos) {
    GpuProcess& process = processes.emplace_back();
    process.pid = info.pid;
    nvml_api::Text text{};
    if (nvml.process_name(info.pid, text.data(), static_cast<unsigned int>(text.size())) ==
        kSuccess) {
      process.name = std::filesystem::path(text.data()).filename();
    }
    if (info.used_memory != nvml_api::kMemoryNotAvailable) {
      process.memory_bytes = static_cast<std::int64_t>(info.used_memory);
    }
  }
  std::erase_if(processes,
                [](const GpuProcess& each) { return each.name == "nvidia-cuda-mps-server"; });
  return processes;
}

Reading<bool> Nvml::Device::memory_remap_pending() const {
  unsigned int correctable = 0;
  unsigned int uncorrectable = 0;
  unsigned int pending = 0;
  unsigned int failure = 0;
  const nvml_api::Result result =
      library_->remapped_rows(handle_, &correctable, &uncorrectable, &pending, &failure);
  if (result != kSuccess) {
    return Missing{library_->why(library_->remapped_rows, result)};
  }
  return pending != 0 || failure != 0;
}

}  // namespace linkgain

#include "nvml_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace linkgain {
namespace {

using nvml_api::FieldValue;
using nvml_api::ValueType;

std::optional<long long> to_integer(const FieldValue& answer) {
  switch (answer.type) {
    case ValueType::floating:
      return static_cast<long long>(answer.value.floating);
    case ValueType::unsigned_int:
      return answer.value.unsigned_int;
    case ValueType::unsigned_long:
      return static_cast<long long>(answer.value.unsigned_long);
    case ValueType::unsigned_long_long:
      return static_cast<long long>(answer.value.unsigned_long_long);
    case ValueType::signed_long_long:
      return answer.value.signed_long_long;
    case ValueType::signed_int:
      return answer.value.signed_int;
    case ValueType::unsigned_short:
      return answer.value.unsigned_short;
  }
  return std::nullopt;  // a type younger than this program
}

}  // namespace

void Nvml::Library::Closer::operator()(void* object) const noexcept { dlclose(object); }

std::unique_ptr<Nvml::Library> Nvml::Library::load(const std::string& name, std::string& reason) {
  std::unique_ptr<Library> library(new Library);
  library->object_.reset(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!library->object_) {
    const char* error = dlerror();
    reason = fmt::format("the NVIDIA driver's NVML library could not be loaded: {}",
                         error != nullptr ? error : name);
    return nullptr;
  }
  library->resolve_all();
  if (!library->init.found()) {
    reason = fmt::format("{} has no nvmlInit_v2: it is no NVML, or an unusably old one", name);
    return nullptr;
  }
  const nvml_api::Result result = library->init();
  if (result != nvml_api::kSuccess) {
    reason = fmt::format("NVML cannot start: {}", library->describe(result));
    return nullptr;
  }
  library->initialised_ = true;
  return library;
}

Nvml::Library::~Library() {
  if (initialised_) {
    shutdown();
  }
}

template <typename... Arguments>
void Nvml::Library::resolve(Function<Arguments...>& function, const char* symbol) {
  function.address_ =
      reinterpret_cast<nvml_api::Result (*)(Arguments...)>(dlsym(object_.get(), symbol));
}

void Nvml::Library::resolve_all() {
  resolve(init, "nvmlInit_v2");
  resolve(shutdown, "nvmlShutdown");
  resolve(driver_version, "nvmlSystemGetDriverVersion");
  resolve(device_count, "nvmlDeviceGetCount_v2");
  resolve(handle_by_index, "nvmlDeviceGetHandleByIndex_v2");
  resolve(handle_by_pci_bus_id, "nvmlDeviceGetHandleByPciBusId_v2");
  resolve(handle_by_uuid, "nvmlDeviceGetHandleByUUID");
  resolve(name, "nvmlDeviceGetName");
  resolve(uuid, "nvmlDeviceGetUUID");
  resolve(memory_info, "nvmlDeviceGetMemoryInfo");
  resolve(compute_mode, "nvmlDeviceGetComputeMode");
  resolve(temperature, "nvmlDeviceGetTemperature");
  resolve(power_usage, "nvmlDeviceGetPowerUsage");
  resolve(clock_info, "nvmlDeviceGetClockInfo");
  resolve(clock_event_reasons, "nvmlDeviceGetCurrentClocksEventReasons");
  if (!clock_event_reasons.found()) {  // its name before driver 535; the bits are the same
    resolve(clock_event_reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  }
  resolve(nvlink_state, "nvmlDeviceGetNvLinkState");
  resolve(nvlink_version, "nvmlDeviceGetNvLinkVersion");
  resolve(p2p_status, "nvmlDeviceGetP2PStatus");
  resolve(pcie_generation, "nvmlDeviceGetCurrPcieLinkGeneration");
  resolve(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth");
  resolve(field_values, "nvmlDeviceGetFieldValues");
}

std::string Nvml::Library::describe(nvml_api::Result result) const {
  const auto error_string =
      reinterpret_cast<const char* (*)(nvml_api::Result)>(dlsym(object_.get(), "nvmlErrorString"));
  const char* text = error_string != nullptr ? error_string(result) : nullptr;
  return text != nullptr ? fmt::format("{} (NVML error {})", text, result)
                         : fmt::format("NVML error {}", result);
}

std::optional<long long> Nvml::Library::field(nvml_api::Handle device, unsigned int id,
                                              unsigned int scope) const {
  FieldValue answer;
  answer.field = id;
  answer.scope = scope;
  if (field_values(device, 1, &answer) != nvml_api::kSuccess ||
      answer.result != nvml_api::kSuccess) {
    return std::nullopt;
  }
  return to_integer(answer);
}

}  // namespace linkgain

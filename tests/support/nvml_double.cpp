// A stand-in for libnvidia-ml.so.1. LINKGAIN_NVML_SCENARIO, read at nvmlInit_v2, chooses a row of
// kScenarios. "h200x2" answers what a machine with two NVLink-connected H200 answered; the others
// are that machine with the differences that NVML's documentation describes.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "nvml_double_scenarios.hpp"

namespace {

using namespace linkgain::nvml_api;
using namespace linkgain::nvml_double;

const Scenario*& current() {
  static const Scenario* scenario = nullptr;
  return scenario;
}

const Gpu* gpu_of(Handle handle) {
  for (int i = 0; current() != nullptr && i < current()->gpus; ++i) {
    if (handle == &kGpus[static_cast<std::size_t>(i)]) {
      return &kGpus[static_cast<std::size_t>(i)];
    }
  }
  return nullptr;
}

Result copy_text(const char* text, char* out, unsigned int length) {
  if (std::strlen(text) + 1 > length) {
    return kInsufficientSize;
  }
  std::strcpy(out, text);
  return kSuccess;
}

Result set(unsigned int* out, unsigned int value) {
  *out = value;
  return kSuccess;
}

Result check_link(Handle device, unsigned int link) {
  if (gpu_of(device) == nullptr) {
    return kInvalidArgument;
  }
  if (current()->links == 0) {
    return kNotSupported;
  }
  return link < static_cast<unsigned int>(current()->links) ? kSuccess : kInvalidArgument;
}

template <typename Predicate>
Result find_gpu(Handle* handle, Predicate matches) {
  if (current() == nullptr) {
    return kUninitialized;
  }
  for (Gpu& gpu : kGpus) {
    if (static_cast<int>(gpu.index) < current()->gpus && matches(gpu)) {
      *handle = &gpu;
      return kSuccess;
    }
  }
  return kNotFound;
}

}  // namespace

extern "C" {

Result nvmlInit_v2() {
  const char* wanted = std::getenv("LINKGAIN_NVML_SCENARIO");
  for (const Scenario& scenario : kScenarios) {
    if (wanted != nullptr && scenario.name == wanted) {
      current() = scenario.init == kSuccess ? &scenario : nullptr;
      return scenario.init;
    }
  }
  std::fprintf(stderr, "nvml_double: LINKGAIN_NVML_SCENARIO names no scenario\n");
  std::abort();
}

Result nvmlShutdown() {
  current() = nullptr;
  return kSuccess;
}

const char* nvmlErrorString(Result result) {
  return result == kDriverNotLoaded ? "Driver Not Loaded" : "Another Error";
}

Result nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  return current() != nullptr ? copy_text("580.159.04", version, length) : kUninitialized;
}

Result nvmlDeviceGetCount_v2(unsigned int* count) {
  return current() != nullptr ? set(count, static_cast<unsigned int>(current()->gpus))
                              : kUninitialized;
}

Result nvmlDeviceGetHandleByIndex_v2(unsigned int index, Handle* handle) {
  return find_gpu(handle, [&](const Gpu& gpu) { return gpu.index == index; });
}

Result nvmlDeviceGetHandleByPciBusId_v2(const char* id, Handle* handle) {
  unsigned int domain = 0;
  unsigned int bus = 0;
  unsigned int device = 0;
  unsigned int function = 0;
  if (std::sscanf(id, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4) {
    return kInvalidArgument;
  }
  return find_gpu(handle, [&](const Gpu& gpu) {
    return gpu.bus == bus && domain == 0 && device == 0 && function == 0;
  });
}

Result nvmlDeviceGetHandleByUUID(const char* uuid, Handle* handle) {
  return find_gpu(handle, [&](const Gpu& gpu) { return std::strcmp(gpu.uuid, uuid) == 0; });
}

Result nvmlDeviceGetName(Handle device, char* name, unsigned int length) {
  return gpu_of(device) != nullptr ? copy_text(current()->gpu_name, name, length)
                                   : kInvalidArgument;
}

Result nvmlDeviceGetUUID(Handle device, char* uuid, unsigned int length) {
  const Gpu* gpu = gpu_of(device);
  return gpu != nullptr ? copy_text(gpu->uuid, uuid, length) : kInvalidArgument;
}

Result nvmlDeviceGetMemoryInfo(Handle device, Memory* memory) {
  if (gpu_of(device) == nullptr) {
    return kInvalidArgument;
  }
  memory->total = current()->memory;
  memory->used = 500ULL << 20;
  memory->free = memory->total - memory->used;
  return kSuccess;
}

Result nvmlDeviceGetComputeMode(Handle device, ComputeMode* mode) {
  if (gpu_of(device) == nullptr) {
    return kInvalidArgument;
  }
  *mode = current()->mode;
  return kSuccess;
}

Result nvmlDeviceGetTemperature(Handle device, TemperatureSensor sensor, unsigned int* value) {
  const Gpu* gpu = gpu_of(device);
  return gpu != nullptr && sensor == TemperatureSensor::gpu ? set(value, gpu->temperature)
                                                            : kInvalidArgument;
}

Result nvmlDeviceGetPowerUsage(Handle device, unsigned int* milliwatts) {
  const Gpu* gpu = gpu_of(device);
  return gpu != nullptr ? set(milliwatts, gpu->power_mw) : kInvalidArgument;
}

Result nvmlDeviceGetClockInfo(Handle device, ClockType type, unsigned int* megahertz) {
  const Gpu* gpu = gpu_of(device);
  return gpu != nullptr && type == ClockType::sm ? set(megahertz, gpu->sm_clock) : kInvalidArgument;
}

Result nvmlDeviceGetCurrentClocksThrottleReasons(Handle device, unsigned long long* reasons) {
  const Gpu* gpu = gpu_of(device);
  if (gpu == nullptr) {
    return kInvalidArgument;
  }
  *reasons = gpu->reasons;
  return kSuccess;
}

Result nvmlDeviceGetNvLinkState(Handle device, unsigned int link, EnableState* state) {
  const Result result = check_link(device, link);
  if (result == kSuccess) {
    *state = static_cast<int>(link) == current()->link_down ? EnableState::off : EnableState::on;
  }
  return result;
}

Result nvmlDeviceGetNvLinkVersion(Handle device, unsigned int link, unsigned int* version) {
  const Result result = check_link(device, link);
  if (result == kSuccess && static_cast<int>(link) == current()->link_down) {
    return kNotSupported;
  }
  return result == kSuccess ? set(version, current()->nvlink_version) : result;
}

Result nvmlDeviceGetP2PStatus(Handle from, Handle to, P2pCapability capability, P2pStatus* status) {
  if (gpu_of(from) == nullptr || gpu_of(to) == nullptr || from == to) {
    return kInvalidArgument;
  }
  switch (capability) {
    case P2pCapability::read:
      *status = static_cast<P2pStatus>(current()->p2p_read);
      break;
    case P2pCapability::write:
      *status = static_cast<P2pStatus>(current()->p2p_write);
      break;
    case P2pCapability::nvlink:
      *status = static_cast<P2pStatus>(current()->p2p_nvlink);
      break;
  }
  return current()->p2p_result;
}

Result nvmlDeviceGetCurrPcieLinkGeneration(Handle device, unsigned int* generation) {
  return gpu_of(device) != nullptr ? set(generation, 5) : kInvalidArgument;
}

Result nvmlDeviceGetCurrPcieLinkWidth(Handle device, unsigned int* width) {
  return gpu_of(device) != nullptr ? set(width, 16) : kInvalidArgument;
}

Result nvmlDeviceGetFieldValues(Handle device, int count, FieldValue* values) {
  if (gpu_of(device) == nullptr) {
    return kInvalidArgument;
  }
  for (int i = 0; i < count; ++i) {
    FieldValue& answer = values[i];
    const bool known = answer.field == kFieldNvlinkLinkCount && current()->link_count_field &&
                       current()->links > 0;
    answer.result = known ? kSuccess : kNotSupported;
    if (known) {
      answer.type = ValueType::unsigned_int;
      answer.value.unsigned_int = static_cast<unsigned int>(current()->links);
    }
  }
  return kSuccess;
}

}  // extern "C"

// The NVML double: power, temperature, clocks and modes.
#include <algorithm>

#include "nvml_double_machine.hpp"

using namespace linkgain::nvml_double;
using linkgain::nvml_api::ClockType;
using linkgain::nvml_api::EnableState;
using linkgain::nvml_api::TemperatureSensor;
using linkgain::nvml_api::TemperatureThreshold;

namespace {

const Model& model() { return machine().scenario->model; }

unsigned int power_limit_of(const Gpu& gpu) {
  return gpu.fault.power_limit != 0 ? gpu.fault.power_limit : model().power_limit;
}

}  // namespace

extern "C" {

Result nvmlDeviceGetComputeMode(Handle device, ComputeMode* mode) {
  return answer(device, mode, [](const Gpu&) { return machine().scenario->mode; });
}

Result nvmlDeviceGetPersistenceMode(Handle device, EnableState* mode) {
  return answer(device, mode, [](const Gpu&) {
    return machine().scenario->persistence ? EnableState::on : EnableState::off;
  });
}

Result nvmlDeviceGetTemperature(Handle device, TemperatureSensor sensor, unsigned int* value) {
  if (sensor != TemperatureSensor::gpu) {
    return kInvalidArgument;
  }
  return answer(device, value, [](const Gpu& gpu) {
    const unsigned int usual = gpu.busy() ? 47 : 45;
    return gpu.fault.temperature != 0 ? gpu.fault.temperature : usual;
  });
}

Result nvmlDeviceGetTemperatureThreshold(Handle device, TemperatureThreshold threshold,
                                         unsigned int* value) {
  if (threshold != TemperatureThreshold::slowdown) {
    return kInvalidArgument;
  }
  return answer(device, value, [](const Gpu&) { return model().slowdown_temperature; });
}

Result nvmlDeviceGetPowerUsage(Handle device, unsigned int* milliwatts) {
  return answer(device, milliwatts, [](const Gpu& gpu) {
    const unsigned int usual = gpu.busy() ? model().busy_power : model().idle_power;
    return gpu.fault.power != 0 ? gpu.fault.power : std::min(usual, power_limit_of(gpu));
  });
}

Result nvmlDeviceGetEnforcedPowerLimit(Handle device, unsigned int* milliwatts) {
  return answer(device, milliwatts, power_limit_of);
}

Result nvmlDeviceGetPowerManagementLimit(Handle device, unsigned int* milliwatts) {
  return answer(device, milliwatts, power_limit_of);
}

Result nvmlDeviceGetPowerManagementDefaultLimit(Handle device, unsigned int* milliwatts) {
  return answer(device, milliwatts, [](const Gpu&) { return model().power_limit; });
}

Result nvmlDeviceGetPowerManagementLimitConstraints(Handle device, unsigned int* least,
                                                    unsigned int* most) {
  const Result result = answer(device, least, [](const Gpu&) { return model().least_power_limit; });
  return result == kSuccess ? answer(device, most, [](const Gpu&) { return model().power_limit; })
                            : result;
}

Result nvmlDeviceGetClockInfo(Handle device, ClockType type, unsigned int* megahertz) {
  if (type != ClockType::sm) {
    return kInvalidArgument;
  }
  return answer(device, megahertz, [](const Gpu& gpu) { return gpu.busy() ? 1980U : 345U; });
}

Result nvmlDeviceGetMaxClockInfo(Handle device, ClockType type, unsigned int* megahertz) {
  if (type != ClockType::sm && type != ClockType::graphics) {
    return kInvalidArgument;
  }
  return answer(device, megahertz, [](const Gpu&) { return model().most_clock; });
}

Result nvmlDeviceGetApplicationsClock(Handle device, ClockType type, unsigned int* megahertz) {
  if (type != ClockType::graphics) {
    return kInvalidArgument;
  }
  const Result result = answer(device, megahertz, [](const Gpu& gpu) {
    return gpu.fault.application_clock != 0 ? gpu.fault.application_clock
                                            : model().application_clock;
  });
  return result == kSuccess && model().application_clock == 0 ? kNotSupported : result;
}

Result nvmlDeviceGetCurrentClocksThrottleReasons(Handle device, unsigned long long* reasons) {
  return answer(device, reasons, [](const Gpu& gpu) {
    const unsigned long long usual = gpu.busy() ? 0x4 : 0x1;
    return gpu.fault.reasons != 0 ? gpu.fault.reasons : usual;
  });
}

}  // extern "C"

// The NVML double: functions that a driver may be too old to have. nvml_double_old is built without
// this file.
#include "nvml_double.hpp"

using namespace linkgain::nvml_double;
using linkgain::nvml_api::ClockType;
using linkgain::nvml_api::EnableState;
using linkgain::nvml_api::NvlinkDeviceType;
using linkgain::nvml_api::PciInfo;

namespace {

/// Returns an NVSwitch as a guest sees it.
PciInfo hidden_pci_info() {
  PciInfo info;
  info.domain = 0xffffffffU;
  info.bus = 0xff;
  info.device = 0xff;
  info.bus_id = {"FFFFFFFF:FF:FF.0"};
  info.bus_id_legacy = {"FFFFFFF:FF:FF.0"};
  return info;
}

}  // namespace

extern "C" {

Result nvmlDeviceGetNvLinkRemoteDeviceType(Handle device, unsigned int link,
                                           NvlinkDeviceType* type) {
  return answer_link(device, link, type, [](const Gpu&) {
    return machine().scenario->model.nvswitch ? NvlinkDeviceType::nvswitch : NvlinkDeviceType::gpu;
  });
}

Result nvmlDeviceGetNvLinkRemotePciInfo_v2(Handle device, unsigned int link, PciInfo* info) {
  return answer_link(device, link, info, [](const Gpu& gpu) {
    const std::size_t peer = gpu.index == 0 ? 1 : 0;  // bridges join two GPUs here
    return machine().scenario->model.nvswitch ? hidden_pci_info()
                                              : pci_info_of(machine().gpus[peer]);
  });
}

Result nvmlDeviceGetPciInfo_v3(Handle device, PciInfo* info) {
  return answer(device, info, pci_info_of);
}

/// Succeeds with 0 on some GPUs that have no such limit, as drivers do.
Result nvmlDeviceGetMaxCustomerBoostClock(Handle device, ClockType type, unsigned int* megahertz) {
  if (type != ClockType::graphics) {
    return kInvalidArgument;
  }
  return answer(device, megahertz,
                [](const Gpu&) { return machine().scenario->model.most_custom_boost_clock; });
}

Result nvmlDeviceGetMigMode(Handle device, EnableState* now, EnableState* after_reset) {
  const auto state_of = [](const Gpu& gpu) {
    return gpu.fault.mig ? EnableState::on : EnableState::off;
  };
  const Result result = answer(device, now, state_of);
  return result == kSuccess ? answer(device, after_reset, state_of) : result;
}

Result nvmlDeviceGetRemappedRows(Handle device, unsigned int* correctable,
                                 unsigned int* uncorrectable, unsigned int* pending,
                                 unsigned int* failure) {
  Gpu* gpu = nullptr;
  const Result result = find(device, gpu);
  if (result != kSuccess) {
    return result;
  }
  if (!machine().scenario->model.remaps_rows) {
    return kNotSupported;
  }
  *correctable = 0;
  *uncorrectable = gpu->fault.remap_pending || gpu->fault.remap_failed ? 1 : 0;
  *pending = gpu->fault.remap_pending ? 1 : 0;
  *failure = gpu->fault.remap_failed ? 1 : 0;
  return kSuccess;
}

}  // extern "C"

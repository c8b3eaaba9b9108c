// A stand-in for libnvidia-ml.so.1: start, end and identity. nvml_double_scenarios.hpp lists what
// it can stand for.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "nvml_double_machine.hpp"

namespace linkgain::nvml_double {

Machine& machine() {
  static Machine the_machine;
  return the_machine;
}

Result find(Handle device, Gpu*& gpu) {
  Machine& all = machine();
  if (all.scenario == nullptr) {
    return kUninitialized;
  }
  for (Gpu& candidate : all.gpus) {
    if (device == &candidate && all.has(candidate)) {
      gpu = &candidate;
      return candidate.fault.lost ? kGpuIsLost : kSuccess;
    }
  }
  return kInvalidArgument;
}

const char* uuid_of(const Gpu& gpu) {
  static constexpr std::array kUuids{
      "GPU-00000000-0000-0000-0000-000000000000", "GPU-00000000-0000-0000-0000-000000000001",
      "GPU-00000000-0000-0000-0000-000000000002", "GPU-00000000-0000-0000-0000-000000000003",
      "GPU-00000000-0000-0000-0000-000000000004", "GPU-00000000-0000-0000-0000-000000000005",
      "GPU-00000000-0000-0000-0000-000000000006", "GPU-00000000-0000-0000-0000-000000000007"};
  static_assert(kUuids.size() == kMostGpus);
  return kUuids[static_cast<std::size_t>(gpu.index)];
}

nvml_api::PciInfo pci_info_of(const Gpu& gpu) {
  const unsigned int place = 6 + static_cast<unsigned int>(gpu.index);
  const bool guest = machine().scenario->model.nvswitch;
  nvml_api::PciInfo info;
  info.bus = guest ? 0 : place;
  info.device = guest ? place : 0;
  std::snprintf(info.bus_id.data(), info.bus_id.size(), "%08X:%02X:%02X.0", info.domain, info.bus,
                info.device);
  std::snprintf(info.bus_id_legacy.data(), info.bus_id_legacy.size(), "%04X:%02X:%02X.0",
                info.domain & 0xffffU, info.bus & 0xffU, info.device & 0xffU);
  return info;
}

Result copy_text(const char* text, char* out, unsigned int length) {
  if (std::strlen(text) + 1 > length) {
    return kInsufficientSize;
  }
  std::strcpy(out, text);
  return kSuccess;
}

}  // namespace linkgain::nvml_double

namespace {

using namespace linkgain::nvml_double;

void build_machine(const Scenario& scenario) {
  Machine& all = machine();
  all = Machine{};
  all.scenario = &scenario;
  for (int i = 0; i < kMostGpus; ++i) {
    Gpu& gpu = all.gpus[static_cast<std::size_t>(i)];
    gpu.index = i;
    for (const Fault& fault : scenario.faults) {
      if (fault.gpu == i) {
        gpu.fault = fault;
      }
    }
  }
}

template <typename Predicate>
Result find_handle(Handle* handle, const Predicate& matches) {
  Machine& all = machine();
  if (all.scenario == nullptr) {
    return kUninitialized;
  }
  for (Gpu& gpu : all.gpus) {
    if (all.has(gpu) && matches(gpu)) {
      *handle = &gpu;
      return gpu.fault.no_handle ? kGpuIsLost : kSuccess;
    }
  }
  return kNotFound;
}

template <typename Text>
Result answer_text(Handle device, char* out, unsigned int length, const Text& text_of) {
  Gpu* gpu = nullptr;
  const Result result = find(device, gpu);
  return result == kSuccess ? copy_text(text_of(*gpu), out, length) : result;
}

}  // namespace

extern "C" {

Result nvmlInit_v2() {
  const char* wanted = std::getenv("LINKGAIN_NVML_SCENARIO");
  const Scenario* scenario = wanted != nullptr ? find_scenario(wanted) : nullptr;
  if (scenario == nullptr) {
    std::fprintf(stderr, "nvml_double: LINKGAIN_NVML_SCENARIO names no scenario\n");
    std::abort();
  }
  if (scenario->init == kSuccess) {
    build_machine(*scenario);
  }
  return scenario->init;
}

Result nvmlShutdown() {
  machine().scenario = nullptr;
  return kSuccess;
}

const char* nvmlErrorString(Result result) {
  switch (result) {
    case kInvalidArgument:
      return "Invalid Argument";
    case kNotSupported:
      return "Not Supported";
    case kNotFound:
      return "Not Found";
    case kDriverNotLoaded:
      return "Driver Not Loaded";
    case kGpuIsLost:
      return "GPU is lost";
    default:
      return "Unknown Error";
  }
}

Result nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  return machine().scenario != nullptr ? copy_text("580.159.04", version, length) : kUninitialized;
}

Result nvmlDeviceGetCount_v2(unsigned int* count) {
  if (machine().scenario == nullptr) {
    return kUninitialized;
  }
  *count = static_cast<unsigned int>(machine().scenario->gpus);
  return kSuccess;
}

Result nvmlDeviceGetHandleByIndex_v2(unsigned int index, Handle* handle) {
  const Result result = find_handle(
      handle, [&](const Gpu& gpu) { return static_cast<unsigned int>(gpu.index) == index; });
  return result == kNotFound ? kInvalidArgument : result;
}

Result nvmlDeviceGetHandleByPciBusId_v2(const char* id, Handle* handle) {
  unsigned int domain = 0;
  unsigned int bus = 0;
  unsigned int device = 0;
  unsigned int function = 0;
  if (std::sscanf(id, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4) {
    return kInvalidArgument;
  }
  return find_handle(handle, [&](const Gpu& gpu) {
    const linkgain::nvml_api::PciInfo info = pci_info_of(gpu);
    return info.domain == domain && info.bus == bus && info.device == device && function == 0;
  });
}

Result nvmlDeviceGetHandleByUUID(const char* uuid, Handle* handle) {
  return find_handle(handle, [&](const Gpu& gpu) { return std::strcmp(uuid_of(gpu), uuid) == 0; });
}

Result nvmlDeviceGetName(Handle device, char* name, unsigned int length) {
  return answer_text(device, name, length,
                     [](const Gpu&) { return machine().scenario->model.name; });
}

Result nvmlDeviceGetUUID(Handle device, char* uuid, unsigned int length) {
  return answer_text(device, uuid, length, uuid_of);
}

Result nvmlDeviceGetMemoryInfo(Handle device, linkgain::nvml_api::Memory* memory) {
  return answer(device, memory, [](const Gpu&) {
    linkgain::nvml_api::Memory all;
    all.total = machine().scenario->model.memory;
    all.used = 500ULL << 20;
    all.free = all.total - all.used;
    return all;
  });
}

}  // extern "C"

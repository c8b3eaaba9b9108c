// A stand-in for libnvidia-ml.so.1. nvml_double.hpp lists what it can stand for.
#include "nvml_double.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

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

Result find_link(Handle device, unsigned int link, Gpu*& gpu) {
  const Result result = find(device, gpu);
  if (result != kSuccess) {
    return result;
  }
  const int links = machine().scenario->model.links;
  if (links == 0) {
    return kNotSupported;
  }
  return link < static_cast<unsigned int>(links) ? kSuccess : kInvalidArgument;
}

Result set(nvml_api::FieldValue& out, nvml_api::ValueType type, unsigned long long value) {
  out.type = type;
  out.value.unsigned_long_long = value;
  if (type == nvml_api::ValueType::unsigned_int) {
    out.value.unsigned_int = static_cast<unsigned int>(value);
  }
  return kSuccess;
}

bool link_active(const Gpu& gpu, unsigned int link) {
  const int down = machine().scenario->link_down;
  constexpr unsigned int kOfABridge = 6;
  return down != kAll && static_cast<int>(link) != down &&
         link % kOfABridge < machine().scenario->model.bridged_of_six &&
         added(gpu, link, "down") == 0;
}

}  // namespace linkgain::nvml_double

using namespace linkgain::nvml_double;
using namespace linkgain::nvml_api;

namespace {

/// Calls of nvmlInit_v2 that no nvmlShutdown has answered: as the driver's library counts them.
int users = 0;

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

/// Starts it once in a process; see nvml_double.hpp.
void start_own_thread() {
  [[maybe_unused]] static const bool started = [] {
    std::thread([] {
      while (true) pause();
    }).detach();
    return true;
  }();
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
    if (machine().scenario != scenario) build_machine(*scenario);
    ++users;
    start_own_thread();
    if (const char* gate = std::getenv("LINKGAIN_NVML_GATE")) std::fgetc(std::fopen(gate, "r"));
  }
  return scenario->init;
}

Result nvmlShutdown() {
  if (users > 0 && --users == 0) machine().scenario = nullptr;
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
    case kNoPermission:
      return "Insufficient Permissions";
    case kVersionMismatch:
      return "Driver/library version mismatch";
    default:
      return "Unknown Error";
  }
}

Result nvmlSystemGetDriverVersion(char* version, unsigned int length) {
  return machine().scenario != nullptr ? copy_text("580.159.04", version, length) : kUninitialized;
}

Result nvmlSystemGetCudaDriverVersion_v2(int* version) {
  if (machine().scenario == nullptr) return kUninitialized;
  *version = 13000;
  return kSuccess;
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
    const PciInfo info = pci_info_of(gpu);
    return info.domain == domain && info.bus == bus && info.device == device && function == 0;
  });
}

Result nvmlDeviceGetName(Handle device, char* name, unsigned int length) {
  return answer_text(device, name, length,
                     [](const Gpu&) { return machine().scenario->model.name; });
}

Result nvmlDeviceGetUUID(Handle device, char* uuid, unsigned int length) {
  return answer_text(device, uuid, length, uuid_of);
}

Result nvmlDeviceGetMemoryInfo(Handle device, Memory* memory) {
  return answer(device, memory, [](const Gpu&) {
    Memory all;
    all.total = machine().scenario->model.memory;
    all.used = 500ULL << 20;
    all.free = all.total - all.used;
    return all;
  });
}

Result nvmlDeviceGetCudaComputeCapability(Handle device, int* major, int* minor) {
  const Result result =
      answer(device, major, [](const Gpu&) { return machine().scenario->model.architecture / 10; });
  if (result == kSuccess) *minor = machine().scenario->model.architecture % 10;
  return result;
}

}  // extern "C"

// Power, temperature, clocks and modes.

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

// nvmlDeviceGetFieldValues.

namespace {

/// PCIe counts modulo 2^32 and starts just below it, NVLink in KiB, each field elsewhere.
constexpr unsigned long long kPcieStart = 0xffff0000ULL;
constexpr unsigned long long kBytesPerKibibyte = 1024;

unsigned long long step(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 0;
}

bool driver_has(unsigned int field) {
  switch (machine().scenario->fields) {
    case Fields::all:
    case Fields::failing:
    case Fields::zero_links:
      return true;
    case Fields::none:
      return false;
    case Fields::some:
      return field != kFieldNvlinkDataReceived && field != kFieldPcieReceived;
    case Fields::old:
      return field != kFieldNvlinkLinkCount && field != kFieldNvlinkSpeed;
  }
  return false;
}

/// Returns the bytes since nvmlInit_v2; this is a reading.
unsigned long long advance(Gpu& gpu, const FieldValue& out, unsigned long long by) {
  return gpu.readings[out.field]++ * by;
}

Result answer_payload(Gpu& gpu, FieldValue& out) {
  const auto links = static_cast<unsigned long long>(machine().scenario->model.links);
  const unsigned long long start = (static_cast<unsigned long long>(gpu.index) + 1) * 36864 * 1024 +
                                   (out.field == kFieldNvlinkDataReceived ? 36864 : 0);
  const unsigned long long all =
      start + advance(gpu, out, step("LINKGAIN_NVML_COUNTER_STEP")) + traffic_of(gpu);
  const unsigned long long bytes = out.scope == kAllLinks ? all : all / links;
  return set(out, ValueType::unsigned_long_long, bytes / kBytesPerKibibyte);
}

Result answer_pcie(Gpu& gpu, FieldValue& out) {
  return set(out, ValueType::unsigned_int,
             kPcieStart + advance(gpu, out, step("LINKGAIN_NVML_PCIE_STEP")));
}

/// Answers the links' nominal speed, whether they are up or not.
Result answer_speed(FieldValue& out) {
  const Model& model = machine().scenario->model;
  if (out.scope >= static_cast<unsigned int>(model.links)) {
    return kNotSupported;  // what 580.159 answers to "all links", too
  }
  const bool slow = static_cast<int>(out.scope) == machine().scenario->link_slow;
  return set(out, ValueType::unsigned_int, model.nvlink_speed / (slow ? 2 : 1));
}

Result answer_common_speed(FieldValue& out) {
  const Model& model = machine().scenario->model;
  return model.nvswitch ? kNotSupported : set(out, ValueType::unsigned_int, model.nvlink_speed);
}

Result answer_field(Gpu& gpu, FieldValue& out) {
  const int links = machine().scenario->model.links;
  if (!driver_has(out.field)) {
    return kNotSupported;
  }
  if (out.field == kFieldPcieSent || out.field == kFieldPcieReceived) {
    return answer_pcie(gpu, out);
  }
  const bool counts_none = machine().scenario->fields == Fields::zero_links;
  if (links == 0 && !(counts_none && out.field == kFieldNvlinkLinkCount)) {
    return kNotSupported;
  }
  switch (out.field) {
    case kFieldNvlinkLinkCount:
      return set(out, ValueType::unsigned_int, static_cast<unsigned long long>(links));
    case kFieldNvlinkCommonSpeed:
      return answer_common_speed(out);
    case kFieldNvlinkSpeed:
      return answer_speed(out);
    case kFieldNvlinkDataSent:
    case kFieldNvlinkDataReceived:
      return answer_payload(gpu, out);
    case kFieldNvlinkReplays:
    case kFieldNvlinkRecoveries:
    case kFieldNvlinkCrcErrors:
      return answer_error_field(gpu, out);
    default:
      return kInvalidArgument;
  }
}

}  // namespace

extern "C" {

Result nvmlDeviceGetFieldValues(Handle device, int count, FieldValue* values) {
  Gpu* gpu = nullptr;
  const Result result = find(device, gpu);
  if (result != kSuccess) {
    return result;
  }
  if (machine().scenario->fields == Fields::failing) {
    return kUnknown;
  }
  for (int i = 0; i < count; ++i) {
    values[i].result = answer_field(*gpu, values[i]);
  }
  return kSuccess;
}

}  // extern "C"

// NVLinks, PCIe, and what lies between two GPUs.

namespace {

Result find_pair(Handle from, Handle to) {
  Gpu* gpu = nullptr;
  const Result first = find(from, gpu);
  const Result second = find(to, gpu);
  if (first != kSuccess || second != kSuccess) {
    return first != kSuccess ? first : second;
  }
  return from == to ? kInvalidArgument : kSuccess;
}

TopologyLevel level_between(int from, int to) {
  const Scenario& scenario = *machine().scenario;
  if (scenario.every_level) {  // NVML's numbers are 0, 10, 20, ...
    return TopologyLevel{10 * (std::abs(from - to) - 1)};
  }
  if (scenario.gpus < kMostGpus) {
    return TopologyLevel::host_bridge;
  }
  return from / 4 == to / 4 ? TopologyLevel::node : TopologyLevel::system;  // two sockets
}

}  // namespace

extern "C" {

Result nvmlDeviceGetNvLinkState(Handle device, unsigned int link, EnableState* state) {
  Gpu* gpu = nullptr;
  const Result result = find_link(device, link, gpu);
  if (static_cast<int>(link) == machine().scenario->link_unreadable) {
    return kUnknown;
  }
  if (result == kSuccess) {
    if (added(*gpu, link, "unreadable") > 0) return kUnknown;
    *state = link_active(*gpu, link) ? EnableState::on : EnableState::off;
  }
  return result;
}

Result nvmlDeviceGetNvLinkVersion(Handle device, unsigned int link, unsigned int* version) {
  return answer_link(device, link, version,
                     [](const Gpu&) { return machine().scenario->model.nvlink_version; });
}

Result nvmlDeviceGetP2PStatus(Handle from, Handle to, P2pCapability capability, P2pStatus* status) {
  const Result result = find_pair(from, to);
  if (result != kSuccess) {
    return result;
  }
  const Scenario& scenario = *machine().scenario;
  switch (capability) {
    case P2pCapability::read:
      *status = scenario.p2p_read;
      break;
    case P2pCapability::write:
      *status = scenario.p2p_write;
      break;
    case P2pCapability::nvlink:
      *status = scenario.p2p_nvlink;
      break;
    case P2pCapability::atomics:
      *status = scenario.p2p_atomics;
      break;
  }
  return scenario.p2p_result;
}

Result nvmlDeviceGetTopologyCommonAncestor(Handle from, Handle to, TopologyLevel* level) {
  const Result result = find_pair(from, to);
  if (result != kSuccess) {
    return result;
  }
  *level = level_between(static_cast<Gpu*>(from)->index, static_cast<Gpu*>(to)->index);
  return kSuccess;
}

Result nvmlDeviceGetCurrPcieLinkGeneration(Handle device, unsigned int* generation) {
  return answer(device, generation, [](const Gpu& gpu) {
    const unsigned int most = machine().scenario->model.pcie_generation;
    return gpu.fault.pcie_generation != 0 ? gpu.fault.pcie_generation : most;
  });
}

Result nvmlDeviceGetCurrPcieLinkWidth(Handle device, unsigned int* width) {
  return answer(device, width, [](const Gpu& gpu) {
    return gpu.fault.pcie_width != 0 ? gpu.fault.pcie_width : 16U;
  });
}

Result nvmlDeviceGetMaxPcieLinkGeneration(Handle device, unsigned int* generation) {
  return answer(device, generation,
                [](const Gpu&) { return machine().scenario->model.pcie_generation; });
}

Result nvmlDeviceGetMaxPcieLinkWidth(Handle device, unsigned int* width) {
  return answer(device, width, [](const Gpu&) { return 16U; });
}

}  // extern "C"

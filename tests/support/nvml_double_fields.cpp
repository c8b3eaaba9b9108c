// The NVML double: nvmlDeviceGetFieldValues.
#include <cstdlib>

#include "nvml_double_machine.hpp"

using namespace linkgain::nvml_double;
using namespace linkgain::nvml_api;

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

Result set(FieldValue& out, ValueType type, unsigned long long value) {
  out.type = type;
  out.value.unsigned_long_long = value;
  if (type == ValueType::unsigned_int) {
    out.value.unsigned_int = static_cast<unsigned int>(value);
  }
  return kSuccess;
}

/// Bytes since nvmlInit_v2; this is a reading.
unsigned long long advance(Gpu& gpu, const FieldValue& out, unsigned long long by) {
  return gpu.readings[out.field]++ * by;
}

Result answer_payload(Gpu& gpu, FieldValue& out) {
  const auto links = static_cast<unsigned long long>(machine().scenario->model.links);
  const unsigned long long start = (static_cast<unsigned long long>(gpu.index) + 1) * 36864 * 1024 +
                                   (out.field == kFieldNvlinkDataReceived ? 36864 : 0);
  const unsigned long long all = start + advance(gpu, out, step("LINKGAIN_NVML_COUNTER_STEP"));
  const unsigned long long bytes = out.scope == kAllLinks ? all : all / links;
  return set(out, ValueType::unsigned_long_long, bytes / kBytesPerKibibyte);
}

Result answer_pcie(Gpu& gpu, FieldValue& out) {
  return set(out, ValueType::unsigned_int,
             kPcieStart + advance(gpu, out, step("LINKGAIN_NVML_PCIE_STEP")));
}

Result answer_errors(FieldValue& out, unsigned long long errors) {
  const bool has_them = out.scope == kAllLinks || out.scope == 0;
  return set(out, ValueType::unsigned_long_long,
             has_them ? errors * machine().scenario->link_errors : 0);
}

/// Hopper's field; GPUs before it count per link by a function.
Result answer_error_field(FieldValue& out) {
  if (!machine().scenario->model.nvswitch) {
    return kNotSupported;
  }
  switch (out.field) {
    case kFieldNvlinkReplays:
      return answer_errors(out, 3);
    case kFieldNvlinkRecoveries:
      return answer_errors(out, 1);
    default:
      return answer_errors(out, 5);
  }
}

/// The links' nominal speed, whether they are up or not.
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
      return answer_error_field(out);
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

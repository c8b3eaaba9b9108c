// The NVML double: what links counted, errors of the scenario and of the file that
// LINKGAIN_NVML_ERRORS names, and what programs say that they moved, by LINKGAIN_NVML_TRAFFIC.
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "nvml_double.hpp"

using namespace linkgain::nvml_double;
using namespace linkgain::nvml_api;

namespace {

constexpr std::string_view kReplays = "replays";
constexpr std::string_view kRecoveries = "recoveries";
constexpr std::string_view kCrcErrors = "crc_errors";
constexpr std::string_view kPcieReplays = "pcie_replays";

/// Gives the first link all of the scenario's errors: `scale` of each.
unsigned long long errors_of(const Gpu& gpu, unsigned int link, std::string_view counter,
                             unsigned int scale) {
  const bool has_them = link == kAllLinks || link == 0;
  return (has_them ? scale * machine().scenario->link_errors : 0) + added(gpu, link, counter);
}

}  // namespace

namespace linkgain::nvml_double {

unsigned long long added(const Gpu& gpu, unsigned int link, std::string_view counter) {
  const char* path = std::getenv("LINKGAIN_NVML_ERRORS");
  std::ifstream file(path != nullptr ? path : "");
  unsigned long long sum = 0;
  int number = 0;
  unsigned int of_link = 0;
  std::string name;
  for (unsigned long long count = 0; file >> number >> of_link >> name >> count;) {
    const bool is_of_it = link == kAllLinks || link == of_link;
    if (number == gpu.index && is_of_it && name == counter) sum += count;
  }
  return sum;
}

unsigned long long traffic_of(const Gpu& gpu) {
  const char* path = std::getenv("LINKGAIN_NVML_TRAFFIC");
  std::ifstream file(path != nullptr ? path : "");
  unsigned long long sum = 0;
  int number = 0;
  for (unsigned long long bytes = 0; file >> number >> bytes;) {
    if (number == gpu.index) sum += bytes;
  }
  return sum;
}

Result answer_error_field(const Gpu& gpu, FieldValue& out) {
  if (!machine().scenario->model.nvswitch) return kNotSupported;
  const auto type = ValueType::unsigned_long_long;
  switch (out.field) {
    case kFieldNvlinkReplays:
      return set(out, type, errors_of(gpu, out.scope, kReplays, 3));
    case kFieldNvlinkRecoveries:
      return set(out, type, errors_of(gpu, out.scope, kRecoveries, 1));
    default:
      return set(out, type, errors_of(gpu, out.scope, kCrcErrors, 5));
  }
}

}  // namespace linkgain::nvml_double

extern "C" {

/// Gives data errors as a healthy H200 did: 42, where its field 163 (CRC errors) was 0.
Result nvmlDeviceGetNvLinkErrorCounter(Handle device, unsigned int link, NvlinkErrorCounter counter,
                                       unsigned long long* errors) {
  return answer_link(device, link, errors, [&](const Gpu& gpu) -> unsigned long long {
    switch (counter) {
      case NvlinkErrorCounter::replay:
        return errors_of(gpu, link, kReplays, 3);
      case NvlinkErrorCounter::recovery:
        return errors_of(gpu, link, kRecoveries, 1);
      case NvlinkErrorCounter::crc_flit:
        return errors_of(gpu, link, kCrcErrors, 4);
      case NvlinkErrorCounter::crc_data:
        return machine().scenario->model.nvswitch ? 42ULL : errors_of(gpu, link, "", 1);
    }
    return 0;
  });
}

Result nvmlDeviceGetPcieReplayCounter(Handle device, unsigned int* replays) {
  return answer(device, replays, [](const Gpu& gpu) {
    return static_cast<unsigned int>(added(gpu, kAllLinks, kPcieReplays));
  });
}

}  // extern "C"

// Nvml::Device: what the links counted.
#include "linkgain/telemetry/nvml.hpp"
#include "nvml_library.hpp"

namespace linkgain {
namespace {

using nvml_api::kAllLinks;
using nvml_api::NvlinkErrorCounter;

constexpr std::int64_t kBytesPerKibibyte = 1024;

/// Of the first that is missing; empty where none is.
std::string reason_of(const Reading<std::int64_t>& sent, const Reading<std::int64_t>& received) {
  return sent.measured() ? received.reason() : sent.reason();
}

std::optional<std::int64_t> from_kibibytes(const Reading<std::int64_t>& reading) {
  return reading.measured() ? std::optional(reading.value() * kBytesPerKibibyte) : std::nullopt;
}

}  // namespace

LinkCounters Nvml::Device::link_counters(AbsentCounters* why) const {
  const auto values = library_->fields(handle_, {{nvml_api::kFieldNvlinkDataSent, kAllLinks},
                                                 {nvml_api::kFieldNvlinkDataReceived, kAllLinks},
                                                 {nvml_api::kFieldPcieSent, 0},
                                                 {nvml_api::kFieldPcieReceived, 0}});
  if (why != nullptr) *why = {reason_of(values[0], values[1]), reason_of(values[2], values[3])};
  return {.nvlink_sent = from_kibibytes(values[0]),
          .nvlink_received = from_kibibytes(values[1]),
          .pcie_sent = values[2].optional(),
          .pcie_received = values[3].optional()};
}

Reading<NvlinkErrors> Nvml::Device::nvlink_errors() const {
  const auto values = library_->fields(handle_, {{nvml_api::kFieldNvlinkReplays, kAllLinks},
                                                 {nvml_api::kFieldNvlinkRecoveries, kAllLinks},
                                                 {nvml_api::kFieldNvlinkCrcErrors, kAllLinks}});
  if (values[0].measured() && values[1].measured() && values[2].measured()) {
    return NvlinkErrors{
        .replays = values[0].value(), .recoveries = values[1].value(), .crc = values[2].value()};
  }
  return count_errors_by_link();
}

Reading<NvlinkErrors> Nvml::Device::count_errors_by_link() const {
  const Reading<int> count = nvlink_count();
  if (!count.measured()) {
    return Reading<NvlinkErrors>::missing(count.reason());
  }
  NvlinkErrors sum;
  for (int link = 0; link < count.value(); ++link) {
    const auto number = static_cast<unsigned int>(link);
    const auto state =
        library_->read<nvml_api::EnableState>(library_->nvlink_state, handle_, number);
    if (state.value_or(nvml_api::EnableState::off) == nvml_api::EnableState::off) {
      continue;
    }
    // Not crc_data: a healthy H200 counts there, too, where its field of CRC errors stays 0.
    for (const auto& [counter, total] : {std::pair(NvlinkErrorCounter::replay, &sum.replays),
                                         std::pair(NvlinkErrorCounter::recovery, &sum.recoveries),
                                         std::pair(NvlinkErrorCounter::crc_flit, &sum.crc)}) {
      const auto errors = library_->read<unsigned long long>(library_->nvlink_error_counter,
                                                             handle_, number, counter);
      if (!errors.measured()) {
        return Reading<NvlinkErrors>::missing(errors.reason());
      }
      *total += static_cast<std::int64_t>(errors.value());
    }
  }
  return sum;
}

}  // namespace linkgain

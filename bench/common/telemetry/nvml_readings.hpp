#pragma once

#include <cstdint>
#include <string>

#include "linkgain/base/reading.hpp"
#include "nvml_api.hpp"

/// Small conversions that the parts of Nvml::Device share.
namespace linkgain::nvml_readings {

inline constexpr double kMilliwattsPerWatt = 1000.0;

/// The reading through `function`; what is missing stays so, with its reason.
template <typename To, typename From, typename Function>
Reading<To> convert(const Reading<From>& from, const Function& function) {
  return from.measured() ? Reading<To>(function(from.value()))
                         : Reading<To>::missing(from.reason());
}

/// NVML's counts as numbers that can be subtracted.
inline Reading<int> to_int(const Reading<unsigned int>& from) {
  return convert<int>(from, [](unsigned int value) { return static_cast<int>(value); });
}

/// The PCI id in lower case; empty where the driver hides the device.
std::string pci_bus_id(const nvml_api::PciInfo& info);

/// The rate of a link, one direction, in 1e9 B/s, from the driver's MB/s. Link rates are multiples
/// of 1/32 GB/s (GA102's 14.0625, Turing's 25.78125, Hopper's 26.5625), of which the driver cuts
/// off the fraction of a MB/s; where no such multiple fits, its number is taken as it is.
double nvlink_rate_gb_per_s(std::int64_t megabytes_per_second);

}  // namespace linkgain::nvml_readings

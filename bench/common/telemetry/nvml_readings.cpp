#include "nvml_readings.hpp"

#include <cctype>
#include <cmath>

namespace linkgain::nvml_readings {

std::string pci_bus_id(const nvml_api::PciInfo& info) {
  std::string id;
  if (info.domain == nvml_api::kNoPciDomain) {
    return id;
  }
  for (const char letter : info.bus_id) {
    if (letter == '\0') {
      break;
    }
    id.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(letter))));
  }
  return id;
}

double nvlink_rate_gb_per_s(std::int64_t megabytes_per_second) {
  constexpr double kStep = 1000.0 / 32;  // MB/s
  constexpr double kMegabytesPerGigabyte = 1000.0;
  const auto told = static_cast<double>(megabytes_per_second);
  const double exact = std::ceil(told / kStep) * kStep;
  return (std::floor(exact) == told ? exact : told) / kMegabytesPerGigabyte;
}

}  // namespace linkgain::nvml_readings

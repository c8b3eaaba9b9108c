#include "linkgain/hardware/nvlink.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace linkgain {

std::optional<double> nvlink_payload_share(int version) {
  switch (version) {
    case 2:
    case 3:
      return 32.0 / 33.0;
    case 6:
    case 7:
      return 16.0 / 17.0;
    default:
      return std::nullopt;
  }
}

std::string nvlink_version_name(int nvml_version) {
  constexpr std::array<std::string_view, 9> kNames{"",    "1.0", "2.0", "2.2", "3.0",
                                                   "3.1", "4.0", "5.0", "6.0"};
  const auto index = static_cast<std::size_t>(std::max(nvml_version, 0));
  return index < kNames.size() ? std::string(kNames[index]) : std::string();
}

}  // namespace linkgain

#pragma once

#include <optional>
#include <string>

namespace linkgain {

/// Payload per direction that a link of this NVLink version (NVML's number) carries of its rate.
/// NVLink 2: 64b/66b coding, 32/33; NVLink 4 and 5: 256b/257b and Reed-Solomon (544,514), 16/17
/// (26.5625 → 25 GB/s, 53.125 → 50 GB/s). Absent for versions whose coding is not published.
std::optional<double> nvlink_payload_share(int version);

/// "4.0" for NVML's version 6, as the product sheets name it: 1 → 1.0, 2 → 2.0, 3 → 2.2, 4 → 3.0,
/// 5 → 3.1, 6 → 4.0, 7 → 5.0, 8 → 6.0. Empty for a number not known here.
std::string nvlink_version_name(int nvml_version);

}  // namespace linkgain

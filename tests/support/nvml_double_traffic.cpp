// The NVML double: what programs say that they moved, by the file that LINKGAIN_NVML_TRAFFIC names.
#include <cstdlib>
#include <fstream>

#include "nvml_double.hpp"

namespace linkgain::nvml_double {

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

}  // namespace linkgain::nvml_double

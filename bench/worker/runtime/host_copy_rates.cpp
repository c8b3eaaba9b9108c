#include "host_copy_rates.hpp"

#include <algorithm>
#include <cmath>

namespace linkgain {
namespace {

/// Long enough to outweigh the first copy's start.
constexpr int kCopies = 4;

/// Timed copies that end within `time` after one that is not timed.
int copies_within(Seconds time, Bytes size, double gb_per_s) {
  const double fit = time.value * gb_per_s * 1e9 / static_cast<double>(size.value) - 1.0;
  return static_cast<int>(std::clamp(std::floor(fit), 1.0, static_cast<double>(kCopies)));
}

}  // namespace

void copy_to_at_once(HostCopy& copy, HostCopyRates& rates) {
  rates.to_gpu_gb_per_s = copy.to_device(kCopies);
}

void copy_from_at_once(HostCopy& copy, HostCopyRates& rates) {
  rates.from_gpu_gb_per_s = copy.from_device(kCopies);
}

CopyRates copy_alone(HostCopy& copy, const CopyRates& at_once, int turns) {
  const Seconds one_way{kAloneOnAHost.value / turns / 2.0};
  const auto copies = [&](double rate) { return copies_within(one_way, copy.size(), rate); };
  const double to_gpu = copy.to_device(copies(at_once.to_gpu_gb_per_s));
  return {to_gpu, copy.from_device(copies(at_once.from_gpu_gb_per_s))};
}

}  // namespace linkgain

#include "linkgain/core/limits.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace linkgain {
namespace {

std::optional<Limit> nvlink_limit(const GpuInfo& gpu) {
  if (gpu.nvlink_links_active.value_or(0) <= 0 || !gpu.nvlink_rate_gb_per_s) return std::nullopt;
  const double rate = *gpu.nvlink_links_active * *gpu.nvlink_rate_gb_per_s;
  const std::optional<double> share = nvlink_payload_share(gpu.nvlink_version.value_or(0));
  return share ? Limit{rate * *share, "NVLink payload"} : Limit{rate, "NVLink rate"};
}

std::optional<Limit> limit_of_rank(const RankInfo& rank, Path path) {
  switch (path) {
    case Path::nvlink:
      return rank.gpu ? nvlink_limit(*rank.gpu) : std::nullopt;
    case Path::pcie_p2p:
    case Path::host_memory:
    case Path::network:
    case Path::mixed:
      if (!rank.host_copy) return std::nullopt;
      return Limit{std::min(rank.host_copy->to_gpu_gb_per_s, rank.host_copy->from_gpu_gb_per_s),
                   "pinned host copy"};
    case Path::unknown:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

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

std::optional<Limit> limit_of(const Machine& machine, Path path) {
  // Between hosts network adapters carry it, whose rates are not known.
  if (!on_one_host(machine)) return std::nullopt;
  std::optional<Limit> slowest;
  for (const RankInfo& rank : machine.ranks) {
    const std::optional<Limit> limit = limit_of_rank(rank, path);
    if (!limit) return std::nullopt;
    if (!slowest || limit->gb_per_s < slowest->gb_per_s) slowest = limit;
  }
  return slowest;
}

}  // namespace linkgain
